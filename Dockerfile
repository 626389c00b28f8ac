# A hub, or with another command any part of roomhub. How to use it: docs/guides/docker.md
# What is built is the same for every platform, so it is built once, on the one that builds.
FROM --platform=$BUILDPLATFORM node:24-slim AS build
WORKDIR /roomhub
COPY package.json package-lock.json .npmrc ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/hub/package.json packages/hub/
COPY packages/participant/package.json packages/participant/
COPY packages/protocol/package.json packages/protocol/
COPY packages/provider/package.json packages/provider/
COPY packages/room-state/package.json packages/room-state/
COPY packages/tunnel/package.json packages/tunnel/
# The only script would fetch another Node, for those who start a checkout with an old one.
RUN npm ci --ignore-scripts
COPY tsconfig.base.json ./
COPY packages packages
COPY apps apps
COPY scripts/bundle scripts/bundle
# The package as it is published: the command with everything it needs. Source maps are five times as large.
RUN node --conditions=@roomhub/source scripts/bundle/build.ts /built \
  && find /built -name '*.map' -delete

FROM node:24-slim
WORKDIR /roomhub
COPY --from=build /built/roomhub ./
RUN ln -s /roomhub/bin/roomhub.js /usr/local/bin/roomhub \
  && install -d -o node -g node -m 700 /var/lib/roomhub
ENV NODE_ENV=production
# Reachable from outside the container, but not announced: multicast stays in its network.
ENV ROOMHUB_HOST=0.0.0.0
ENV ROOMHUB_MDNS=0
ENV ROOMHUB_STATE_FILE=/var/lib/roomhub/rooms.json
# Behind a published port every client may have the gateway's address, so that one proves nothing.
ENV ROOMHUB_DISTRUST_GATEWAY=1
USER node
VOLUME /var/lib/roomhub
EXPOSE 5050
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD roomhub health --hub "http://127.0.0.1:${ROOMHUB_PORT:-5050}"
# The launcher becomes the program itself: as process 1 it handles SIGTERM and has no children to collect.
ENTRYPOINT ["roomhub"]
CMD ["serve"]
