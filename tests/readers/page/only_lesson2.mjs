import { counts } from './harness.mjs';
await import(`./${process.env.ONLY || 'lesson'}.mjs`);
console.log(JSON.stringify(counts)); process.exit(0);
