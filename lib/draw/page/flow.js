// The way of the information from layer to layer: attention rollout, as lines between its shares.

const FLOW_LEVELS = 4; // layers; of more not each is a level
const FLOW_WORDS = 24; // of more only those that hold FLOW_LEAST
const FLOW_LEAST = 0.02;
const FLOW_SAID =
    '# supplies # of what # holds after the last layer. An estimate (attention rollout): in each ' +
    'layer half of a vector stays (grey), half comes from where heads attend on average (blue).';

// Does the page hold all that attention rollout needs: all heads of all tokens, and a stream?
function hasRollout(tensor) {
    const { attention, sites, tokens } = tensor.sentence;
    const isWhole = (one) => hasRoles(one) && !one.mean_of && one.shape[0] === attention.heads;
    const layers = tensor.sentence.of(tensor.kind).filter(isWhole).length;
    const hasAll = layers === attention.layers && tokens?.[0] === tensor.rowCount;
    const hasStream = sites.includes('resid_post') && !attention.differs;
    return tensor.kind === 'weights' && hasAll && hasStream;
}

// A token's row of (I + mean of the heads) / 2, as in lib/lens/effective.c.
const mixedRow = (tensor, row) => once(tensor, `mixed ${row}`, () =>
    meanRow([tensor], row).subarray(0, tensor.keyCount)
        .map((value, key) => ((value || 0) + (key === row)) / 2));

// The parts of shares that come from each token below layers, the first of which is the last.
function spread(shares, layers) {
    for (const layer of layers) {
        const below = new Float64Array(shares.length);
        shares.forEach((share, from) => {
            if (share) mixedRow(layer, from).forEach((part, to) => (below[to] += share * part));
        });
        shares = below;
    }
    return shares;
}

const onlyAt = (count, at, share) => new Float64Array(count).fill(share, at, at + 1);

// The parts of all tokens in a query after the last layer: `run --show rollout`.
function rolloutRow(tensor, row) {
    return spread(onlyAt(tensor.rowCount, row, 1), attentionOf(tensor).reverse());
}

// Numbers of layers below each level, from the last one to 0.
function levelsOfFlow(count) {
    const every = count > FLOW_LEVELS ? Math.max(3, Math.ceil(count / 6)) : 1;
    const stops = [0];
    for (let at = count; at > 0; at -= every) stops.splice(-1, 0, at);
    return stops;
}

// What the stream of the query is read as after a number of layers; '': not known.
function flowLens(sentence, row, stop) {
    const next = sentence.nextTokens;
    const known = next && predictedRow(row, sentence) === row ? next.stepsAt(row) : [];
    if (known.length < 2) return '';
    const steps = known.filter(({ step, layer }) =>
        stop ? layer === stop - 1 && step !== 'embedding' : step === 'embedding',
    );
    const [best] = steps.length ? next.likeliest(row, steps.at(-1)) : [];
    return best ? `${quoted(shown(best.name))} ${percent(best.share)}` : '';
}

// A column for each word, below the words if these are on one line; a level for each layer.
function drawFlow(svg, tensor, row) {
    const layers = attentionOf(tensor);
    const stops = levelsOfFlow(layers.length);
    const between = stops.slice(1).map((to, at) => layers.slice(to, stops[at]).reverse());
    const shares = [onlyAt(tensor.rowCount, row, 1)];
    for (const some of between) shares.push(spread(shares.at(-1), some));
    const put = (...marks) => svg.append(shape(...marks));
    svg.replaceChildren();
    svg.style.setProperty('--gaps', stops.length - 1);
    const { width, height, left } = svg.getBoundingClientRect();
    const all = [...shares[0].keys()].slice(firstShown(tensor));
    const isKept = (key) => key === row || shares.some((level) => level[key] >= FLOW_LEAST);
    const keys = all.length > FLOW_WORDS ? all.filter(isKept) : all;
    const least = keys === all ? FLOW_LEAST / 10 : FLOW_LEAST / 2;
    const line = byId('panes').lastElementChild;
    const words = [...line.querySelectorAll('.word')].map((one) => one.getBoundingClientRect());
    const end = words.at(-1).right - left + 48;
    const isLine = line.classList.contains('one-line') && keys === all && end + 200 < width;
    const gutter = phone.matches ? 96 : 160;
    const gap = (width - gutter) / keys.length;
    const places = keys.map((_, at) =>
        isLine ? words[at].left - left + words[at].width / 2 : gutter + (at + 0.5) * gap,
    );
    const x = (key) => places[keys.indexOf(key)];
    const side = isLine ? end : 0;
    const [top, bottom] = [32, height - (isLine ? 40 : 84)];
    const y = (level) => top + (level * (bottom - top)) / (stops.length - 1);
    between.forEach((some, level) => {
        const [y1, y2] = [y(level), y(level + 1)];
        const middle = (y1 + y2) / 2;
        for (const from of keys.filter((key) => shares[level][key] >= least)) {
            const parts = spread(onlyAt(tensor.rowCount, from, shares[level][from]), some);
            for (const to of keys.filter((key) => parts[key] >= least)) {
                const [x1, x2] = [x(from), x(to)];
                const d = `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
                const size = Math.max(0.75, 30 * parts[to]);
                const kind = from === to ? 'stays' : 'moves';
                put('path', { class: kind, 'stroke-width': size, d });
            }
        }
    });
    const tone = new Tone(0, 1, 'linear');
    shares.forEach((level, at) => {
        const name = stops[at] ? say('after layer #', stops[at] - 1) : say('words');
        const lens = flowLens(tensor.sentence, row, stops[at]);
        const query = quoted(tensor.label('row', row));
        const reads = lens && (isLine ? say('# reads: #', query, lens) : `→ ${lens}`);
        put('text', { x: side, y: y(at) - 3, class: 'quiet' }, name);
        put('text', { x: side, y: y(at) + 15 }, reads);
        const numbered = []; // numbers of smaller shares would lie on them
        for (const key of [...keys].sort((a, b) => level[b] - level[a])) {
            const share = level[key];
            const isHeld = share >= FLOW_LEAST / 10;
            const r = isHeld ? 4 + 14 * Math.sqrt(share) : 2;
            const fill = isHeld ? css(tone.colour(share)) : variable('--edge');
            put('circle', { cx: x(key), cy: y(at), r, fill });
            const isFree = numbered.every((other) => Math.abs(x(other) - x(key)) > 40);
            if (!isFree || share < FLOW_LEAST) continue;
            numbered.push(key);
            const place = { x: x(key), y: y(at) - r - 4, class: 'share' };
            put('text', place, `${(100 * share).toFixed(0)} %`);
        }
    });
    for (const key of keys) {
        const own = key === row ? ' own' : '';
        const slanted = `translate(${x(key) + 4} ${bottom + 28}) rotate(-45)`;
        const place = isLine
            ? { class: `share${own}`, x: x(key), y: bottom + 36 }
            : { class: `slanted${own}`, transform: slanted };
        put('text', place, shortened(tensor.label('row', key), 88, 14));
    }
}
