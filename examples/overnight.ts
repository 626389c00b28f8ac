// Evaluates a room's model over night: uploads questions as a batch, waits, and counts what it got right.
//   roomhub batch serve --room ABC234 --dir ~/batches       # prints OPENAI_BASE_URL and OPENAI_API_KEY
//   node examples/overnight.ts llama3.2                     # begins a batch, and waits for its end
//   node examples/overnight.ts llama3.2 batch_…             # waits for one that was begun before
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { toFile } from "openai";

const [model = "*", begun] = process.argv.slice(2);
const pollMs = Number(process.env["POLL_MS"] ?? 30_000);

// `batch serve` may be stopped and started meanwhile.
const openai = new OpenAI({ maxRetries: 20 });
const sums = Array.from({ length: 100 }, (_, n) => ({ id: `sum-${n}`, a: n, b: (n * 37) % 100 }));

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function begin(): Promise<string> {
  const lines = sums.map(({ id, a, b }) =>
    JSON.stringify({
      custom_id: id,
      method: "POST",
      url: "/v1/chat/completions",
      body: {
        model,
        messages: [{ role: "user", content: `What is ${a} + ${b}? Only the number.` }],
      },
    }),
  );
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines.join("\n")), "sums.jsonl"),
    purpose: "batch",
  });
  const batch = await openai.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  return batch.id;
}

const id = begun ?? (await begin());
print(`batch ${id}`);

let batch = await openai.batches.retrieve(id);
while (["validating", "in_progress", "finalizing", "cancelling"].includes(batch.status)) {
  await sleep(pollMs);
  batch = await openai.batches.retrieve(id);
}

const { completed = 0, failed = 0 } = batch.request_counts ?? {};
print(`${batch.status}: ${completed} results, ${failed} errors`);
for (const { line, message } of batch.errors?.data ?? []) print(`line ${line}: ${message}`);

if (batch.output_file_id) {
  const text = await (await openai.files.content(batch.output_file_id)).text();
  const results = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const answers = new Map<string, string>(
    results.map((one) => [one.custom_id, one.response.body.choices[0].message.content]),
  );
  const right = sums.filter(
    ({ id, a, b }) => answers.get(id)?.match(/\d+/g)?.at(-1) === `${a + b}`,
  );
  print(`${right.length} of ${sums.length} sums are right`);
}
