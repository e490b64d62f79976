// The numbers behind a cell of attention, from query and key to the weighted value. Numbers of the
// pass are exact; products are rounded to float32, as the program adds them.

const WHY_TENSORS = /^(enc\.|cross_)?(scores|softmax|masked|weights|difference|context)$/;

function exact(value) {
    if (Number.isNaN(value)) return '';
    return value === -Infinity ? '−∞' : shortest(value);
}

function phi(value) {
    return Math.fround(value > 0 ? value + 1 : Math.exp(value));
}

class Why {
    // A column is a key or a dim. `of` gives a row of one of the head's tensors; it is null if the
    // page cannot explain the cell.
    constructor(tensor, index, { row, column }) {
        const { layer, sentence } = tensor;
        const rows = sentence.rowsOfHead(tensor, index);
        const isSink = column === rows?.weights.columnCount;
        const ways = sentence.attention;
        const head = tensor.heads?.[index] ?? null;
        Object.assign(this, { tensor, layer, head, row, ways, of: isSink ? null : rows });
        this.scale = ways.scales[`${this.prefix()}weights`]?.[layer];
        if (!this.of) return;
        this.key = tensor.columns === 'key' ? column : largestOf(this.of('weights', row));
        this.dim = tensor.columns === 'key' ? null : column;
        [this.score, this.masked, this.weight] = ['scores', 'masked', 'weights'].map(
            (name) => this.of(name, row)?.[this.key]);
        this.hidden = this.masked === -Infinity || Number.isNaN(this.masked);
    }

    // Query and key vectors; in linear attention φ of both.
    pair(key = this.key) {
        const rows = [this.of('q', this.row), this.of('k', key)];
        return this.ways.linear ? rows.map((row) => row.map(phi)) : rows;
    }

    products() {
        const [q, k] = this.pair();
        return q.map((value, i) => Math.fround(value * k[i]));
    }

    // The contribution of each dim to the difference of two keys' scaled scores.
    leadOver(other) {
        const [q, k] = this.pair();
        const [, rival] = this.pair(other);
        return q.map((value, i) => value * (k[i] - rival[i]) * this.scale);
    }

    // The steps from the score to the input of the softmax: name, formula, number.
    bends() {
        const { ways, head, key } = this;
        if (ways.linear) return [];
        const scale = Math.fround(this.scale);
        let value = Math.fround(this.score * scale);
        const steps = [['scaled', `${exact(this.score)} × ${exact(scale)}`, value]];
        if (ways.cap > 0) {
            const cap = Math.fround(ways.cap);
            value = Math.fround(cap * Math.tanh(value / cap));
            steps.push(['capped', `${exact(cap)} × tanh(scaled / ${exact(cap)})`, value]);
        }
        if (ways.slopes[head] > 0) {
            const slope = Math.fround(ways.slopes[head]);
            const away = ways.alibi === 'jina';
            const known = away || ways.alibi === 'bloom'; // others: lib/explain/steps_attention.c
            const bias = away ? -slope * Math.abs(key - this.row) : slope * key;
            if (known) value = Math.fround(value + Math.fround(bias));
            const words = `+ ALiBi: slope ${exact(slope)}, key ${key}`;
            steps.push(['with ALiBi', words, known ? value : NaN]);
        }
        if (ways.alibi === 'table' && this.prefix() !== 'cross_')
            steps.push(['with its bias', `+ bias(${key - this.row})`, NaN]);
        if (ways.temperature > 0)
            steps.push(['divided', `/ temperature ${exact(Math.fround(ways.temperature))}`, NaN]);
        return steps;
    }

    // For every key: masked, e^(masked - max), weight.
    softmax() {
        const masked = this.of(this.ways.renormalise ? 'softmax' : 'masked', this.row);
        const weights = this.of('weights', this.row);
        const most = Math.max(...masked.filter(Number.isFinite));
        return [...weights].map((weight, key) =>
            ({ key, masked: masked[key], power: Math.exp(masked[key] - most), weight }));
    }

    // The command that prints this explanation on a terminal.
    command() {
        const part = this.part();
        const labels = this.of.weights.labels('row') || [];
        const place = String(this.row); // with the token if another token looks like an index
        const token = labels.includes(place) ? `${place}:${labels[this.row]}` : place;
        return commandOf(this.tensor.sentence, 'explain', [
            ...['--layer', String(this.layer), '--head', String(this.head)],
            ...['--query', token, '--full'],
            ...(part ? ['--part', part] : []),
        ]);
    }

    // The value of --part; undefined: the decoder's own attention.
    part() {
        return { 'enc.': 'encoder', cross_: 'cross' }[this.prefix()];
    }

    prefix() {
        return WHY_TENSORS.exec(this.tensor.tensor)?.[1] || '';
    }
}
