// ONNX Runtime on one thread.
//
//     node onnx.mjs                                   serve: a request a line, an answer a line
//     node onnx.mjs GRAPH TEXTS LAYER HEAD FOLDER     a CSV file of one head for each text
//
// A request: {"graph": path, "texts": [[id, …], …], "fetch": [name, …], "past": tokens,
// "write": path}; the answer: {"seconds": s}. With "past" so many keys and values are there before;
// with "write" what was fetched goes to a file, one tensor after another.
import fs from "node:fs";
import readline from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PEERS}/package.json`);
const { InferenceSession, Tensor } = require("onnxruntime-node");
const sessions = new Map();

async function open(graph) {
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: "all" };
  if (!sessions.has(graph)) sessions.set(graph, await InferenceSession.create(graph, options));
  return sessions.get(graph);
}

function idsOf(texts) {
  const ids = BigInt64Array.from(texts.flat(), BigInt);
  return new Tensor("int64", ids, [texts.length, texts[0].length]);
}

// Keys and values of so many tokens, all zero: what they hold does not change the time.
function pastOf(session, tokens, shape) {
  const names = session.inputNames.filter((name) => name.startsWith("past."));
  const [batch, heads, width] = shape;
  const zeros = () => new Float32Array(batch * heads * tokens * width);
  return Object.fromEntries(
    names.map((name) => [name, new Tensor("float32", zeros(), [batch, heads, tokens, width])]),
  );
}

async function answer({ graph, texts, fetch, past = 0, write }) {
  const session = await open(graph);
  const feeds = { ids: idsOf(texts), ...pastOf(session, past, [texts.length, 12, 64]) };
  const start = process.hrtime.bigint();
  const found = await session.run(feeds, fetch);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  if (write) {
    const file = fs.openSync(write, "w");
    for (const name of fetch) fs.writeSync(file, found[name].data);
    fs.closeSync(file);
  }
  return { seconds };
}

async function serve() {
  for await (const line of readline.createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}

async function writeHeads(graph, path, layer, head, folder) {
  const texts = JSON.parse(fs.readFileSync(path, "utf8"));
  const name = `weights.${layer}`;
  const session = await open(graph);
  const { data, dims } = (await session.run({ ids: idsOf(texts) }, [name]))[name];
  const tokens = dims[3];
  texts.forEach((_, i) => {
    const square = (i * dims[1] + Number(head)) * tokens * tokens;
    const row = (_, query) => data.subarray(square + query * tokens, square + (query + 1) * tokens);
    const rows = Array.from({ length: tokens }, row);
    fs.writeFileSync(`${folder}/${i}.csv`, rows.map((row) => row.join(",") + "\n").join(""));
  });
}

await (process.argv.length > 2 ? writeHeads(...process.argv.slice(2)) : serve());
