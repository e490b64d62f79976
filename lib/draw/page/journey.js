// What Motion draws: all numbers of a query in a head, and of the stream around it.

const dotOf = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const unitOf = (vector) => {
    const length = Math.hypot(...vector);
    return vector.map((value) => value / (length || 1));
};

// The maps whose queries travel: the selected tensor's, else the first attention's.
function motionTensors() {
    const sentence = current();
    const kind = [state.kind, 'cross_weights', ...sentence.kinds].find((name) =>
        /(weights|mix_map(_norm)?)$/.test(name)
        && sentence.of(name).some((one) => one.isAttention || one.isMixer));
    if (kind) return sentence.of(kind);
    return sentence.explainedTensors.filter((one) => one.isAttention && one.tensor === 'weights');
}

// What is made once for a query, under a name.
function kept(name, make) {
    const of = [motionTensors()[0], motionRow(), state.runs, isChinese()];
    if (of.some((one, i) => one !== motion.keptOf[i]))
        Object.assign(motion, { keptOf: of, kept: new Map() });
    if (!motion.kept.has(name)) motion.kept.set(name, make());
    return motion.kept.get(name);
}

function streamRow(sentence, name, layer, row, head = 0) {
    const { tensors, query } = sentence.streams || { tensors: [] };
    const isIt = (one) => one.tensor === name && one.layer === layer;
    return heldRow(sentence.tensors.find(isIt) || tensors.find(isIt), head, row, query);
}

// The numbers of a head of attention: a function of a name and a row; null: the page lacks them.
function headRows(tensor, index) {
    const { sentence } = tensor;
    const rows = !tensor.isMixer && sentence.rowsOfHead(tensor, index, sentence.motionTensors);
    return rows || (() => null);
}

// The head that is followed in a layer: the selected one, or the one whose row is the most pointed,
// not at the first key or at the query itself. Those with numbers come first.
function followedHead(at) {
    const row = motionRow();
    const tensor = motionTensors()[at];
    const { at: layer, head: own } = motion.step || { at: state.layer, head: state.head };
    const chosen = at === layer ? own : motion.heads[at];
    const exists = chosen < tensor.shape[0];
    if (at in motion.heads && exists) return chosen;
    return kept(`head ${at} ${chosen}`, () => {
        const has = (head) => Boolean(tensor.isMixer || headRows(tensor, head)('q', row));
        if (exists && has(chosen)) return chosen;
        const pointed = Array.from({ length: tensor.shape[0] }, (_, head) => {
            const values = tensor.row(head, row).subarray(0, tensor.keyCount).filter(
                (value, key) => key && key !== row && Number.isFinite(value));
            return Math.max(0, ...values) + Number(has(head));
        });
        return pointed.indexOf(Math.max(...pointed));
    });
}

// Each key of a query. Masked scores are the scores times the scale, unless the model does more.
function keysOf({ tensor, index, row, q, rows, ways, scale }) {
    const weights = tensor.row(index, row);
    const [masked, scores, difference] = ['masked', 'scores', 'difference'].map((name) =>
        q && rows(name, row));
    const inputs = (vector) => (ways.linear ? vector.map(phi) : vector);
    const isRemade = ways.linear || ways.renormalise;
    const isScaled = !(ways.cap > 0 || ways.alibi || ways.temperature > 0 || isRemade);
    return Array.from({ length: tensor.keyCount }, (_, j) => {
        const [k, v] = ['k', 'v'].map((name) => q && rows(name, j));
        const hidden = Number.isNaN(weights[j]) || masked?.[j] === -Infinity
            || (isRemade && masked?.[j] === 0);
        const given = scores?.[j] ?? (isScaled ? masked?.[j] / scale : NaN);
        const raw = Number.isFinite(given) ? given : q && k ? dotOf(inputs(q), inputs(k)) : NaN;
        const scaled = ways.linear ? raw
            : hidden || ways.renormalise ? raw * scale : (masked?.[j] ?? NaN);
        const [weight, by] = hidden ? [0, 0] : [weights[j], (difference || weights)[j]];
        return { j, label: tensor.label('column', j), k, v, raw, scaled, hidden, weight, by };
    });
}

// All numbers of a query in the head that is followed in a layer.
function journeyOf(at) {
    const index = followedHead(at);
    return kept(`journey ${at} ${index}`, () => makeJourney(at, index));
}

function makeJourney(at, index) {
    const [tensor, row] = [motionTensors()[at], motionRow()];
    const { sentence, layer, isMixer } = tensor;
    const ways = sentence.attention;
    const rows = headRows(tensor, index);
    const q = rows('q', row);
    const prefix = isMixer ? '' : /^(enc\.|cross_)?/.exec(tensor.tensor)[0];
    const scale = ways.scales[`${prefix}weights`]?.[layer] ?? 1;
    const part = isMixer ? 'mixer' : prefix === 'cross_' ? 'cross-attention' : 'attention';
    const made = { sentence, tensor, at, index, layer, row, rows, q, prefix, part, ways, scale };
    Object.assign(made, { name: tensor.shownHead(index), query: tensor.label('row', row) });
    const keys = keysOf(made);
    const soft = keys.filter((one) => !one.hidden || ways.renormalise);
    const most = Math.max(...soft.map((one) => one.scaled));
    for (const one of keys) one.power = 0;
    for (const one of soft) one.power = ways.linear ? one.scaled : Math.exp(one.scaled - most);
    const sink = tensor.keyCount < tensor.columnCount ? tensor.at(index, row, tensor.keyCount) : 0;
    const sum = soft.reduce((all, one) => all + one.power, 0) / (1 - sink);
    for (const one of keys) one.share = ways.renormalise ? one.power / sum : one.weight;
    const visible = keys.filter((one) => !one.hidden);
    const order = [...visible].sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const isOwn = tensor.columns === 'key' && !isCross(tensor);
    Object.assign(made, { keys, sum, sink, order, own: isOwn && !isMixer ? keys[row] : null });
    made.x = xOf(made, row);
    const { own } = made;
    made.isInput = q && own && q.every((value, i) => value === own.k[i] && value === own.v[i]);
    made.xs = keys.map(({ j }) => (isOwn ? xOf(made, j) : null));
    const shared = ways.queries_of_a_key[layer] || 1;
    const heads = [...Array(tensor.shape[0]).keys()];
    made.queries = heads // others that meet the same keys
        .filter((head) => q && head !== index
            && Math.floor(head / shared) === Math.floor(index / shared))
        .map((head) => ({ name: tensor.shownHead(head), q: headRows(tensor, head)('q', row) }));
    made.context = q && new Float64Array(keys[0].v.length);
    for (const { v, by } of q ? order : [])
        for (let i = 0; i < v.length; i++) made.context[i] += by * v[i];
    made.contexts = isMixer || prefix === 'enc.' ? []
        : heads.map((head) => streamRow(sentence, `${prefix}context`, layer, row, head))
            .filter(Boolean);
    made.steps = prefix === 'enc.' ? [] : streamSteps(made);
    return made;
}

// What a layer's queries, keys and values are made of.
function xOf({ sentence, layer, prefix }, row) {
    const normsSums = sentence.blocks?.[layer]?.some(({ sums }) => sums.includes('ln_1'));
    const names = prefix === 'cross_' ? ['resid_mid']
        : [normsSums ? '' : `${prefix}ln_1`, `${prefix}resid_pre`];
    const found = names.map((name) => streamRow(sentence, name, layer, row)).find(Boolean);
    const isFirst = !layer && prefix !== 'cross_';
    return found || (isFirst ? streamRow(sentence, 'embedding', null, row) : null);
}

// The values in the drawing of arrows, and the share of them that it shows; computed when needed.
function placeValues(made) {
    if (made.points) return;
    const { keys, own, context } = made;
    made.axes = axesOf(keys.map(({ v }) => v), own?.v, context);
    made.points = keys.map(({ v }) => made.axes.map((axis) => dotOf(axis, v)));
    const total = (lists) => lists.reduce((all, list) => all + dotOf(list, list), 0);
    made.seen = total(made.points) / total(keys.map(({ v }) => v));
}

const STREAM_NAMES = { before: 'stream before', sum: '= stream', norm: 'norm of it',
    after: '→ stream' };

// Steps of the stream: what is before the layer, what each part adds, and the sums; each with the
// part of the layer, and the scene in which it is added.
function streamSteps(journey) {
    const { sentence, layer, row } = journey;
    const of = (name) => streamRow(sentence, name, layer, row);
    let sum = of('resid_pre');
    if (!sum) return [];
    const steps = [];
    const put = (kind, part, values, lens, how = '') => steps.push({ kind, part, values, lens,
        scene: /^(MLP|layer input)$/.test(part) ? 'mlp' : 'stream',
        isStream: kind in STREAM_NAMES, name: say(STREAM_NAMES[kind] || `+ ${part}`) + how });
    put('before', null, sum, lensOf(journey, layer, 'before'));
    const tolerance = sentence.streams?.tensors[0].coding === 'short' ? 0.02 : 1e-4;
    for (const { kind: part, adds, sums, factor } of sentence.blocks[layer]) {
        const added = of(adds)?.map((value) => value * factor);
        if (!added) continue;
        const expected = Float32Array.from(sum, (value, i) => value + added[i]);
        const normed = /post$/.test(adds) ? say(', normed') : '';
        put('added', part, added, null, normed + (factor === 1 ? '' : ` × ${brief(factor)}`));
        sum = expected;
        for (const [at, site] of sums.entries()) {
            const values = of(site);
            if (!values) continue;
            const error = Math.hypot(...values.map((value, i) => value - expected[i]));
            const kind = error < tolerance * Math.hypot(...values) ? 'sum'
                : /ln_/.test(site) ? 'norm' : 'after';
            put(kind, part, values, at === sums.length - 1 && lensOf(journey, layer, part));
            sum = values;
        }
    }
    return steps;
}

// The step of the predictions that reads the stream there, or undefined.
function lensOf({ sentence, row }, layer, part) {
    const steps = sentence.nextTokens?.stepsAt(predictedRow(row, sentence)) || [];
    const names = part === 'MLP' ? ['mlp', 'layer'] : [part];
    if (part !== 'before')
        return steps.find((one) => one.layer === layer && names.includes(one.step));
    if (!layer) return steps.find((one) => one.step === 'embedding');
    return steps.findLast((one) => one.layer === layer - 1 && one.step !== 'embedding');
}

// The most likely tokens at the query; `step`: as the stream predicts them there.
const likeliestOf = ({ sentence, row }, step) =>
    sentence.nextTokens.likeliest(predictedRow(row, sentence), step);

// --- axes of the arrows ------------------------------------------------------------------------

// Vectors of three dimensions have their own axes. Others: across, what sets the query's own value
// apart from the context; up, the context; depth, the main direction of the rest. So the context
// and the own value have their true length, and sums stay sums.
function axesOf(values, own, context) {
    if (context.length <= 3)
        return [0, 1, 2].map((at) => [...context].map((_, i) => Number(i === at)));
    const apart = (vector, axes) =>
        axes.reduce((rest, axis) => {
            const along = dotOf(rest, axis);
            return rest.map((value, i) => value - along * axis[i]);
        }, Float64Array.from(vector));
    const mainOf = (axes) => mainAxis(values.map((one) => apart(one, axes)));
    const up = unitOf(context);
    const across = own && apart(own, [up]);
    const isApart = own && Math.hypot(...across) > 1e-3 * Math.hypot(...own);
    const wide = isApart ? unitOf(across).map((value) => -value) : mainOf([up]);
    return [wide, up, mainOf([up, wide])];
}

// The main direction of some vectors, by power iteration; zero if they are.
function mainAxis(vectors) {
    const size = Math.max(...vectors.map((one) => dotOf(one, one)), 1e-9);
    let axis = Float64Array.from(vectors[0], (_, i) => Math.sin(7 * i + 1));
    for (let turn = 0; turn < 60; turn++) {
        const next = new Float64Array(axis.length);
        for (const vector of vectors) {
            const along = dotOf(vector, axis);
            for (let i = 0; i < next.length; i++) next[i] += along * vector[i];
        }
        if (!(dotOf(next, next) > 1e-9 * size * size)) return next.fill(0);
        axis = unitOf(next);
    }
    return axis;
}
