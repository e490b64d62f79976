// llama.cpp on one thread, by the addon of node-llama-cpp.
//
//     node llama.mjs MODEL.gguf      serve: reads a request and writes an answer per line
//
// Request: {"ids": [id, …], "cached": number of first ids already in the cache, "write": path}.
// Answer: {"seconds": time of the other ids, "processor": time of the processors}. "write" writes the logits of the other ids to a file;
// without it only the last id has logits. A request {"texts": [text, …]} has the answer
// {"ids": [[id, …], …], "first": beginning-of-text token or null}; ids do not include that token.
import fs from "node:fs";
import readline from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PEERS}/package.json`);
const binaries = `${process.env.PEERS}/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64`;
const addon = require(`${binaries}/llama-addon.node`);
const TOKENS = 1024; // maximum of a text

async function open(path) {
  addon.setLogger(() => {});
  addon.loadBackends(binaries);
  await addon.init();
  const model = new addon.AddonModel(path, { addonExports: addon, gpuLayers: 0 });
  await model.init();
  return model;
}

async function openContext(model, options) {
  const sizes = { contextSize: TOKENS, batchSize: TOKENS, sequences: 1, threads: 1 };
  const context = new addon.AddonContext(model, { ...sizes, ...options });
  await context.init();
  return context;
}

// Decode ids from position `first`; `wanted` lists the ids whose logits are computed.
async function decode(context, ids, first, wanted) {
  context.initBatch(ids.length);
  const indices = context.addToBatch(0, first, Uint32Array.from(ids), Uint32Array.from(wanted));
  const start = process.hrtime.bigint();
  const used = process.cpuUsage();
  await context.decodeBatch();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const { user, system } = process.cpuUsage(used);
  return { indices, seconds, processor: (user + system) / 1e6 };
}

// The addon returns pairs of a token and its logit, ordered by logit.
async function writeLogits(model, context, indices, path) {
  const sampler = new addon.AddonSampler(model);
  sampler.applyConfig({ temperature: 0 });
  const file = fs.openSync(path, "w");
  for (const index of indices) {
    const pairs = (await context.sampleToken(index, sampler, false, false, true))[3];
    const logits = new Float32Array(pairs.length / 2);
    for (let i = 0; i < pairs.length; i += 2) logits[pairs[i]] = pairs[i + 1];
    fs.writeSync(file, logits);
  }
  fs.closeSync(file);
}

function tokenize(model, texts) {
  const first = model.shouldPrependBosToken() ? model.tokenBos() : null;
  return { ids: texts.map((text) => [...model.tokenize(text, true)]), first };
}

async function answer(model, context, { texts, ids, cached = 0, write }) {
  if (texts) return tokenize(model, texts);
  context.removeTokenCellsFromSequence(0, 0, -1);
  if (cached) await decode(context, ids.slice(0, cached), 0, [cached - 1]);
  const rest = ids.slice(cached);
  const wanted = write ? rest.keys() : [rest.length - 1];
  const { indices, ...times } = await decode(context, rest, cached, wanted);
  if (write) await writeLogits(model, context, indices, write);
  return times;
}

const [path, options = "{}"] = process.argv.slice(2);
const model = await open(path);
let context; // opened by the first request with ids, not for a tokenizer alone
for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.ids) context ??= await openContext(model, JSON.parse(options));
  console.log(JSON.stringify(await answer(model, context, request)));
}
