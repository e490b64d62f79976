// llama.cpp on one thread, by the addon of node-llama-cpp.
//
//     node llama.mjs MODEL.gguf      serve: a request a line, an answer a line
//
// A request: {"ids": [id, …], "cached": so many of them are in the cache already, "write": path};
// the answer: {"seconds": s, of the rest of them}. With "write" the logits of the rest go to a
// file, without it they are computed of the last id alone. Of {"texts": [text, …]} it is their ids,
// {"ids": [[id, …], …], "first": the token that is put in front of them, or null}.
import fs from "node:fs";
import readline from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PEERS}/package.json`);
const binaries = `${process.env.PEERS}/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64`;
const addon = require(`${binaries}/llama-addon.node`);
const TOKENS = 1024; // the most of a text

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

// Ids from position `first` on; which logits are wanted.
async function decode(context, ids, first, wanted) {
  context.initBatch(ids.length);
  const indices = context.addToBatch(0, first, Uint32Array.from(ids), Uint32Array.from(wanted));
  const start = process.hrtime.bigint();
  await context.decodeBatch();
  return { indices, seconds: Number(process.hrtime.bigint() - start) / 1e9 };
}

// They come as pairs of a token and its logit, by their size.
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
  const { indices, seconds } = await decode(context, rest, cached, wanted);
  if (write) await writeLogits(model, context, indices, write);
  return { seconds };
}

const [path, options = "{}"] = process.argv.slice(2);
const model = await open(path);
let context; // of a model that computes, not of one for its tokenizer
for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.ids) context ??= await openContext(model, JSON.parse(options));
  console.log(JSON.stringify(await answer(model, context, request)));
}
