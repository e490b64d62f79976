// attn-cli's C code, compiled for browsers (lib/live): opens a model and turns texts into JSON.
//
//     const engine = await Engine.open(moduleBytes, 'tiny', [['config.json', [bytes, …]], …]);
//     const json = engine.run('Life is short', { show: 'weights', temperature: 2 });

const NO_SUCH_FILE = 8; // WASI's EBADF: only the outputs are open files

class Engine {
    static async open(bytes, name, files) {
        const engine = new Engine();
        const { instance } = await WebAssembly.instantiate(bytes, engine.imports());
        engine.calls = instance.exports;
        engine.calls._initialize();
        for (const [file, parts] of files) engine.keep(file, parts);
        if (engine.calls.live_begin(engine.text(name))) throw new Error(engine.why());
        return engine;
    }

    // Writes append to one list of bytes, in parts; other calls fail.
    imports() {
        this.written = [];
        const calls = {
            fd_write: (_, list, count, size) => this.write(list, count, size),
            environ_sizes_get: (count, size) => this.put(count, 0) + this.put(size, 0),
            environ_get: () => 0,
            proc_exit: (status) => {
                throw new Error(`the engine ended with status ${status}`);
            },
        };
        const missing = { get: (known, name) => known[name] || (() => NO_SUCH_FILE) };
        return { wasi_snapshot_preview1: new Proxy(calls, missing) };
    }

    get memory() {
        return this.calls.memory.buffer; // a new buffer after memory has grown
    }

    put(at, value) {
        new DataView(this.memory).setUint32(at, value, true);
        return 0;
    }

    write(list, count, size) {
        const view = new DataView(this.memory);
        let total = 0;
        for (let i = 0; i < count; i++) {
            const at = view.getUint32(list + 8 * i, true);
            const length = view.getUint32(list + 8 * i + 4, true);
            this.written.push(new Uint8Array(this.memory, at, length).slice());
            total += length;
        }
        return this.put(size, total);
    }

    take(size) {
        const at = this.calls.live_alloc(size);
        if (!at) throw new Error(`the engine has no room for ${size} bytes`);
        return at;
    }

    // Copy bytes into the engine, with a 0 at the end.
    text(text) {
        const bytes = new TextEncoder().encode(text);
        const at = this.take(bytes.length + 1);
        new Uint8Array(this.memory).set(bytes, at);
        return at;
    }

    keep(name, parts) {
        const size = parts.reduce((sum, part) => sum + part.length, 0);
        const start = this.take(size);
        let at = start;
        for (const part of parts) {
            new Uint8Array(this.memory).set(part, at);
            at += part.length;
        }
        if (this.calls.live_file(this.text(name), start, size))
            throw new Error(`the engine has no room for one more file, '${name}'`);
    }

    why() {
        const bytes = new Uint8Array(this.memory, this.calls.live_error());
        return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
    }

    // The JSON of a text. Throws an error with the engine's message. `added`: ids after the text.
    run(text, options = {}) {
        const { added = [], show = 'weights', edits = '', temperature = 0, layer = '' } = options;
        const numbers = [temperature, options.next || 0, options.steps ? 1 : 0];
        return this.call('live_run', text, [added, show, layer, edits], numbers);
    }

    // The JSON of the next tokens, and of the one that `generate` chooses as its token `index`.
    next(text, { added, edits, temperature, next, t, k, seed, index }) {
        return this.call('live_next', text, [added, edits], [temperature, next, t, k, seed, index]);
    }

    // The JSON of their log-probabilities if the last token cannot attend to a key.
    knockout(text, { added, edits, temperature, next }, key, ofSource) {
        const numbers = [temperature, next, ofSource ? 1 : 0, key];
        return this.call('live_knockout', text, [added, edits], numbers);
    }

    // The JSON of where a query and a key come from.
    origin(text, { added = [], temperature = 0, layer, head, query, key, lessMean }) {
        const numbers = [temperature, layer, head, query, key, lessMean ? 1 : 0];
        return this.call('live_origin', text, [added], numbers);
    }

    call(name, text, others, numbers) {
        this.written.length = 0;
        const size = new TextEncoder().encode(text).length;
        const taken = [text, ...others].map((one) => this.text(String(one)));
        const failed = this.calls[name](taken[0], size, ...taken.slice(1), ...numbers);
        for (const one of taken) this.calls.live_free(one);
        if (failed) throw new Error(this.why());
        const decoder = new TextDecoder();
        const parts = this.written.map((part) => decoder.decode(part, { stream: true }));
        return parts.join('') + decoder.decode();
    }
}
