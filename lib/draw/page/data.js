// The numbers of the page. Each tensor is a string, decoded at its first use.

// float32 in little-endian order, as in the memory of all machines with browsers.
function decodeExact(text) {
    return new Float32Array(bytesOf(text).buffer);
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// Two letters for each number: 0, -infinity or masked, or a level of a logarithmic scale
// (lib/draw/page.h).
function decodeShort(text, { signed, most, hides }) {
    const digits = new Map([...LETTERS].map((letter, digit) => [letter, digit]));
    const highest = (signed ? 2048 : 4096) - 3;
    const valueOf = (code) => {
        if (code < 2) return !code ? 0 : hides ? NaN : -Infinity;
        const level = signed ? (code - 2) >> 1 : code - 2;
        const value = most * 10 ** ((signed ? 5 : 6) * (level / highest - 1));
        return signed && code & 1 ? -value : value;
    };
    return Float32Array.from({ length: text.length / 2 }, (_, i) =>
        valueOf(64 * digits.get(text[2 * i]) + digits.get(text[2 * i + 1])),
    );
}

// A text that may be written from right to left: it must not reorder its neighbours.
// In elements of its own page.css does this.
const FROM_THE_RIGHT =
    /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

function isolated(text) {
    return FROM_THE_RIGHT.test(text) ? `\u2068${text}\u2069` : text;
}

// A token without the mark of its leading space; a token that is only a space keeps it.
function shown(label) {
    return label.length > 1 && label.startsWith('␣') ? label.slice(1) : label;
}

// A head as people read it: "1.3" of a command line is "L1H3", "1.kv0" is "L1KV0".
function shownHead(name) {
    return name.replace(/^\d+/, 'L$&').replace('.kv', 'KV').replace('.', 'H');
}

// The shortest text that reads back to the same float32, as every format of attn-cli writes it.
function shortest(value) {
    for (let digits = 1; digits <= 9; digits++) {
        const text = value.toPrecision(digits);
        if (Math.fround(Number(text)) === value) return String(Number(text));
    }
    return String(value);
}

class Tensor {
    constructor(spec, sentence) {
        Object.assign(this, spec);
        this.sentence = sentence;
        this.rowCount = spec.shape[1];
        this.columnCount = spec.shape[2];
    }

    // The columns without the last one of a model with sinks, which is no key.
    get keyCount() {
        return this.columnCount - Number(this.column_labels === 'with_sink');
    }

    get numbers() {
        const decode = this.coding === 'exact' ? decodeExact : decodeShort;
        this.decoded ??= decode(this.values, this);
        this.values = null;
        return this.decoded;
    }

    labels(axis) {
        return this.sentence.labels[this[`${axis}_labels`]] || null; // null: plain numbers
    }

    // Leading spaces are not drawn. A row of cross-attention looks for the next token, `在 → 垫子`.
    label(axis, index) {
        const labels = this.labels(axis);
        const looks = axis === 'row' && this.columns === 'key' && /^cross_/.test(this.tensor);
        if (!labels) return String(index);
        if (!looks) return shown(labels[index]);
        return labels.slice(index, index + 2).map((one) => isolated(shown(one))).join(' → ');
    }

    // The first position of the second text of a pair, or 0.
    second(axis) {
        return this[`${axis}_labels`] === 'sentence' ? this.sentence.second || 0 : 0;
    }

    // Head `index` row by row; NaN where the mask hides a cell.
    matrix(index) {
        return once(this, index, () => this.unpacked(index));
    }

    unpacked(index) {
        const { rowCount: rows, columnCount: columns } = this;
        const data = new Float32Array(rows * columns).fill(NaN);
        const sink = columns - this.keyCount;
        const visible = (row) => (this.causal ? Math.min(row + 1 + sink, columns) : columns);
        let at = (index * this.numbers.length) / this.shape[0];
        for (let row = 0; row < rows; row++) {
            const count = visible(row);
            const keys = count - sink;
            data.set(this.numbers.subarray(at, at + keys), row * columns);
            at += count;
            if (sink) data[row * columns + columns - 1] = this.numbers[at - 1];
        }
        return data;
    }

    at(index, row, column) {
        return this.matrix(index)[row * this.columnCount + column];
    }

    row(index, at) {
        const from = at * this.columnCount;
        return this.matrix(index).subarray(from, from + this.columnCount);
    }

    text(value) {
        if (value === -Infinity) return '-inf';
        return this.coding === 'exact' ? shortest(value) : String(Number(value.toPrecision(3)));
    }

    // "1.3", "1.kv0" of a key/value head that several heads share, or the layer alone.
    headName(index) {
        const shared = !this.heads && this.kv_heads;
        const head = shared ? `kv${shared[index]}` : this.heads && this.heads[index];
        const parts = [this.layer, head];
        return parts.filter((part) => part !== null && part !== undefined).join('.');
    }

    shownHead(index) {
        return shownHead(this.headName(index));
    }

    // The name of a head's switch (what-if.js), "1.3"; "cross_1.3", "enc.1.3" or "mix_1.3" for the
    // heads of a cross-attention, of an encoder and of a layer that keeps a state.
    switchName(index) {
        return /^(enc\.|cross_|mix_)?/.exec(this.tensor)[0] + this.headName(index);
    }

    name(index, head = this.shownHead(index)) {
        return [this.tensor, this.mean_of, head].filter(Boolean).join(' ');
    }

    // True for the maps of layers that keep a state: mixer.js.
    get isMixer() {
        return /^mix_map/.test(this.tensor);
    }

    // The maps of all layers are of one kind, whether attention or a state made them.
    get kind() {
        const attends = this.sentence.tensors.some((one) => one.tensor === 'weights');
        return this.isMixer && attends ? 'weights' : this.tensor;
    }

    // True for attention weights, which have roles.
    get isAttention() {
        return /(^|[._])(weights|softmax)$/.test(this.tensor) && this.columns === 'key';
    }
}

// The most likely tokens after each token, or at masks: of the model, and after each step before.

class NextTokens {
    constructor(json) {
        this.names = new Map();
        for (let i = 0; i < json.names.length; i += 2)
            this.names.set(json.names[i], json.names[i + 1]);
        this.layers = json.layers.map((layer) => ({
            ...layer,
            logprobs: decodeExact(layer.logprobs),
            came: decodeExact(layer.came),
        }));
    }

    // The steps that predict at a place; a slow engine makes all but the last for one place alone.
    stepsAt(place) {
        return this.layers.filter(({ count, first = 0, ids }) =>
            place >= first && (place - first) * count < ids.length);
    }

    likeliest(place, layer = this.layers.at(-1)) {
        const { count, first = 0 } = layer;
        const start = (place - first) * count;
        return Array.from({ length: count }, (_, i) => ({
            id: layer.ids[start + i],
            name: this.names.get(layer.ids[start + i]),
            share: Math.exp(layer.logprobs[start + i]),
        }));
    }

    // The probability of a token; of one that is not stored an upper bound.
    shareOf(id, place, layer = this.layers.at(-1)) {
        const list = this.likeliest(place, layer);
        const found = list.find((one) => one.id === id);
        return found ? found.share : Math.min(list.at(-1).share, 0.0004);
    }

    // Minus the log-probability of a token given those before it; NaN for the first.
    surprisal(place) {
        return place ? -this.layers.at(-1).came[place - 1] : NaN;
    }
}

// The place of the largest number, by size; NaN is smaller than all.
const largestOf = (values) => values.reduce((best, value, at) =>
    (Math.abs(value) > Math.abs(values[best]) || Number.isNaN(values[best]) ? at : best), 0);

function stepName({ step, layer }) {
    return step === 'embedding' ? step : `${step === 'mlp' ? 'MLP' : step} ${layer}`;
}

// A row of a head of a tensor, which may hold the row of one query alone; null if it is not there.
function heldRow(tensor, head, row, query = -1) {
    const at = tensor?.rowCount === 1 && query >= 0 ? row - query : row;
    return at >= 0 && at < tensor?.rowCount && head < tensor.shape[0] ? tensor.row(head, at) : null;
}

class Sentence {
    constructor(json) {
        Object.assign(this, json);
        this.tensors = json.tensors.map((spec) => new Tensor(spec, this));
        const made = (list) => (list || []).map((spec) => new Tensor(spec, this));
        this.explainedTensors = made(json.explained);
        const ofHeads = this.tensors.filter((one) => one.heads || one.kv_heads);
        const journey = made(json.journey?.tensors);
        this.motionTensors = [...this.explainedTensors, ...journey, ...ofHeads];
        if (json.streams) this.streams = { ...json.streams, tensors: made(json.streams.tensors) };
        const { chinese, title } = json.lesson || {};
        for (const name of chinese ? ['before', 'look', 'also', 'question', 'answer'] : [])
            for (const [at, text] of json.lesson[name]?.split('\n\n').entries() || [])
                CHINESE[text] = chinese[name].split('\n\n')[at];
        if (chinese) CHINESE[json.lesson.point] = chinese.point;
        if (chinese) CHINESE[title] = /^(\d+ +)?/.exec(title)[0] + chinese.title;
        this.kinds = [...new Set(this.tensors.map((tensor) => tensor.kind))];
    }

    get nextTokens() {
        this.madeNext ??= this.next && this.masks?.length !== 0 ? new NextTokens(this.next) : null;
        return this.madeNext;
    }

    // The numbers behind a head, as a function of a name without enc. and cross_, and of a row, and
    // the tensor of its weights; null if `tensors` lack them.
    rowsOfHead(tensor, index, tensors = this.explainedTensors) {
        const found = {};
        const prefix = /^(enc\.|cross_|mix_)?/.exec(tensor.tensor)[0];
        const head = tensor.heads?.[index];
        const { differs, heads, queries_of_a_key: shares } = this.attention || {};
        const shared = tensor.isMixer ? this.mixer.heads_of_a_key : shares?.[tensor.layer];
        const context = differs ? head % (heads / 2) : head; // then two heads make one
        for (const other of head === undefined ? [] : tensors) {
            if (other.layer !== tensor.layer || !other.tensor.startsWith(prefix)) continue;
            const name = other.tensor.slice(prefix.length);
            if (/^(enc\.|cross_|mix_)/.test(name)) continue;
            const ofKeys = tensor.isMixer ? Boolean(other.kv_heads)
                : ['k_pre', 'k', 'v'].includes(name);
            const of = (wanted) => (ofKeys ? other.kv_heads.indexOf(Math.floor(wanted / shared))
                : other.heads.indexOf(wanted));
            const at = of(['difference', 'context', 'v'].includes(name) ? context : head);
            const second = differs && name === 'v' ? of(context + heads / 2) : -1;
            if (at >= 0) found[name] ??= { tensor: other, at, second };
        }
        const isDrawn = tensors !== this.explainedTensors; // the page has its weights elsewhere
        const whole = tensor.isMixer ? found.step && found.decay : found.weights || isDrawn;
        if (!whole || !found.q || !found.k) return null;
        const rowsOf = (name, row) => {
            const { tensor: held, at, second } = found[name] || {};
            const first = heldRow(held, at, row, this.journey?.query);
            return first && second >= 0 ? Float32Array.of(...first, ...held.row(second, row))
                : first;
        };
        return Object.assign(rowsOf, { weights: found.weights?.tensor });
    }

    // The text, after its source if it has one.
    get texts() {
        return this.source ? [this.source, this.title].map(isolated).join(' → ') : this.title;
    }

    // The title; with the model, run or step if the page has several.
    name() {
        if (this.lesson) return say(this.lesson.title);
        const models = new Set(sentences.map((one) => one.model));
        const model = models.size > 1 ? ` · ${this.model.replace(/^.*\/(?=.)/, '')}` : '';
        return `${this.texts}${model}${this.run ? ` · ${this.run}` : ''}`;
    }

    of(kind) {
        const found = this.tensors.filter((tensor) => tensor.kind === kind);
        const mixed = found.some((tensor) => tensor.isMixer); // in the order of layers
        return mixed ? found.sort((one, other) => one.layer - other.layer) : found;
    }
}

const look = JSON.parse(document.getElementById('look').textContent);
const sentences = [...document.querySelectorAll('script.sentence')].map(
    (script) => new Sentence(JSON.parse(script.textContent)),
);
// Steps of a lesson with a Chinese example, by the step that they replace in Chinese.
const chineseSteps = [];
while (sentences.at(-1).lesson?.of !== undefined) {
    const step = sentences.pop();
    chineseSteps[step.lesson.of] = step;
}
