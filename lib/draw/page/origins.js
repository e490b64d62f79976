// Where the query and the key of a score come from: the score is a sum over pairs of an earlier
// part of the model on the key's side and one on the query's (lib/measure/score_attribution.h).

const PAIRS_SHOWN = 3;
const HEAD_PART = /^(enc\.)?L(\d+)\.(cross\.)?H(\d+)$/;

// Options of texts; all others change the pass whose scores `attribute --head` splits.
const TEXT_OPTIONS = ['--source', '--pair', '--special', '--literal-special', '--long'];

const isChangedPass = ({ command = [] }) =>
    command.some((word) => word.startsWith('--') && !TEXT_OPTIONS.includes(word));

// The split of a cell that the page holds or its engine makes; null: there is none.
function originOf(why, cell, lessMean) {
    const { sentence } = why.tensor;
    const asked = { of: `${why.prefix()}weights`, layer: why.layer, head: why.head,
        query: cell.row, key: cell.column };
    const held = sentence.origins?.find((one) =>
        one.less_mean === lessMean && Object.keys(asked).every((at) => one[at] === asked[at]));
    const run = live.engine && sentence.request;
    if (held || !run || run.off.length) return held || null;
    return JSON.parse(live.engine.origin(run.text, { ...requestOf(run), ...asked, lessMean }));
}

// A head of the page by the name of a part; null: it is no head, or the page does not show it.
function headOfPart(part) {
    const [found, encoder, layer, cross, head] = HEAD_PART.exec(part) || [];
    if (!found) return null;
    const kind = `${encoder ? 'enc.' : cross ? 'cross_' : ''}weights`;
    const at = current().of(kind).findIndex((tensor) => tensor.layer === Number(layer));
    const index = current().of(kind)[at]?.heads?.indexOf(Number(head)) ?? -1;
    return index < 0 ? null : { kind, layer: at, head: index };
}

// A part in words.
function partWords(part) {
    const [, encoder, layer, name] = /^(enc\.)?(?:L(\d+)\.)?(.*)$/.exec(part);
    const head = HEAD_PART.exec(part);
    const words = {
        ...{ token: 'the token itself', place: 'its position', segment: 'its segment' },
        ...{ here: 'constants of this head', mlp: `L${layer}.mlp` },
        ...{ bias: `biases of layer ${layer}` },
    };
    const said = head ? `${head[3] ? 'cross ' : ''}L${head[2]}H${head[4]}` : words[name] || part;
    return encoder && layer !== undefined ? `encoder ${said}` : said;
}

// --- following a head --------------------------------------------------------------------------

const placeNow = () => `${state.kind} ${state.layer} ${state.head}`;

// The cells from which the reader followed heads to this one.
const trail = () => (state.trail?.at === placeNow() ? state.trail.steps : []);

// Go to a cell of a head, after `steps`.
function goAlong(steps, place) {
    set(place);
    state.trail = { at: placeNow(), steps };
    drawWhy();
}

// Go to a head's row of a token, at its strongest key.
function follow(place, row) {
    const { kind, layer, head, kept } = state;
    const column = largestOf(current().of(place.kind)[place.layer].row(place.head, row));
    goAlong([...trail(), { kind, layer, head, kept }], { ...place, kept: { row, column }, row });
}

function drawTrail(panel) {
    const steps = trail();
    if (!steps.length) return;
    const names = steps.flatMap((step, at) => {
        const name = current().of(step.kind)[step.layer].shownHead(step.head);
        const goBack = () => goAlong(steps.slice(0, at), step);
        return [buttonFor(goBack, name, 'name'), element('span', ' ← ')];
    });
    const parts = [...names, element('b', shownTensor().shownHead(state.head))];
    panel.append(element('nav', parts, 'names trail', { 'aria-label': 'heads that led here' }));
}

// --- the fold ----------------------------------------------------------------------------------

class OriginView {
    constructor(why, cell) {
        Object.assign(this, { why, cell, box: element('div', '', 'origin') });
        this.draw(true);
    }

    add(...facts) {
        const made = element(...facts);
        this.box.append(made);
        return made;
    }

    draw(lessMean) {
        this.box.replaceChildren();
        this.origin = originOf(this.why, this.cell, lessMean);
        if (!this.origin) return void this.lacks();
        const ways = [['less the mean key', true], ['the score alone', false]];
        this.add('p', ways.map(([words, mean]) => buttonFor(() => this.draw(mean), words, 'name',
            { 'aria-pressed': mean === lessMean })), 'names');
        const { score } = this.origin;
        const size = `${Math.abs(score).toFixed(2)} ${score < 0 ? 'below' : 'above'}`;
        this.add('p', lessMean
            ? `Score ${size} the mean of this query’s keys: a sum of pairs`
            : `Score ${signedText(score, 2)}: a sum of pairs`);
        this.pairs();
        for (const one of ['key', 'query']) this.side(one);
        for (const one of ['key', 'query']) this.path(one);
        this.proof();
    }

    lacks() {
        const { sentence, layer } = this.why.tensor;
        if (isChangedPass(sentence))
            return void this.add('p', 'Scores of a changed pass are not split.');
        const name = `${layer}.${this.why.head}`;
        const part = this.why.part();
        const words = ['--head', name, '--query', String(this.cell.row),
            ...['--key', `${this.cell.column}:mean`], ...(part ? ['--part', part] : [])];
        const isHeld = sentence.origins?.some(
            (one) => one.layer === layer && one.head === this.why.head);
        const lacks = `The page does not hold this for ${shownHead(name)}.`;
        const only = 'The page holds this for the strongest key of each query. Here:';
        this.add('p', isHeld ? only : `${lacks} On the command line, or in a page:`);
        this.box.append(commandLine(commandOf(sentence, 'attribute', words)));
        const list = ['--explain', explainedNames(sentence, name), '-o', 'page.html'];
        if (!isHeld) this.box.append(commandLine(commandOf(sentence, 'page', list)));
    }

    // The position of a side, and its label.
    position(side) {
        return side === 'key' ? this.cell.column : this.cell.row;
    }

    label(side, at = this.position(side)) {
        const { tensor } = this.why;
        const label = tensor.columns === 'key' || side === 'query'
            ? tensor.label(side === 'key' ? 'column' : 'row', at) : String(at);
        return [element('b', label, '', { translate: 'no' }), ` ${at}`];
    }

    // A part, which leads to its matrix if it is a head.
    part(part, side, source) {
        const place = headOfPart(part);
        const words = partWords(part);
        const go = () => follow(place, this.position(side));
        const parts = [place ? buttonFor(go, words, 'name') : element('b', words)];
        if (typeof source === 'number') {
            const layer = place && current().of(place.kind)[place.layer];
            const label = layer ? layer.label('column', source) : '';
            parts.push(' reading ', element('b', label, '', { translate: 'no' }), ` ${source}`);
        }
        return element('span', parts);
    }

    pairs() {
        const pairs = this.origin.score_pairs.slice(0, PAIRS_SHOWN);
        this.add('ol', pairs.map(([value, query, key, ofQuery, ofKey]) => element('li', [
            element('b', signedText(value, 2), value < 0 ? 'value below' : 'value'),
            ...[this.part(key, 'key', ofKey), ' on the key side × '],
            ...[this.part(query, 'query', ofQuery), ' on the query side'],
        ])), 'pairs');
    }

    // What each part of a side adds with all of the other side: layers by heads and other parts.
    side(side) {
        const { columns } = this.origin;
        const cells = this.cells(side);
        this.add('h3', [`${side} side `, ...this.label(side)]);
        const most = Math.max(1e-30, ...cells.map(({ value }) => Math.abs(value)));
        const tone = new Tone(-most, most, 'sqrt');
        const grid = this.add('div', '', 'parts', { role: 'group', 'aria-label': `${side} side` });
        grid.style.setProperty('--across', columns.length);
        const letters = columns.length > 10 ? 3 : 9;
        for (const name of ['', ...columns]) {
            const words = name.replace('cross_', '×').slice(0, letters);
            grid.append(element('span', words, '', { title: name }));
        }
        cells.forEach(({ part, value }, cell) => {
            const row = cell / columns.length;
            const last = cell + columns.length === cells.length;
            if (Number.isInteger(row))
                grid.append(element('span', row === 0 ? 'in' : last ? 'here' : `${row - 1}`));
            const place = value ? headOfPart(part) : null;
            const title = `${partWords(part)} · ${signedText(value, 3)}`;
            const go = () => follow(place, this.position(side));
            const made = place ? buttonFor(go, '', '', { title, 'aria-label': title })
                : element('i', '', '', value ? { title } : {});
            made.style.background = css(tone.colour(value));
            grid.append(made);
        });
        rove(grid, 'button', columns.length);
    }

    // The name of a cell's part (resid_part_name).
    partName(side, row, rows, column) {
        const { of } = this.origin;
        const prefix = of === 'enc.weights' || (of === 'cross_weights' && side !== 'query');
        const name = column.replace('cross_', 'cross.').replace(/\d+$/, 'H$&');
        if (row === rows - 1) return 'here';
        return `${prefix ? 'enc.' : ''}${row ? `L${row - 1}.` : ''}${name}`;
    }

    // The parts of a side: name and value of each cell, row by row.
    cells(side) {
        const { columns, sides } = this.origin;
        const coded = sides[side === 'key' ? 1 : 0];
        coded.numbers ??= decodeShort(coded.values, coded);
        const rows = coded.numbers.length / columns.length;
        return [...coded.numbers].map((value, at) => {
            const row = Math.floor(at / columns.length);
            return { part: this.partName(side, row, rows, columns[at % columns.length]), value };
        });
    }

    // The largest part of a side, and what made that: “Mary” 3 → L0.mlp → L16H0 → L18H6.
    path(side) {
        const steps = this.origin.score_path.filter((step) => step[0] === side).reverse();
        if (!steps.length) return;
        const [[, , , at, reads]] = steps;
        const parts = steps.flatMap(([, , part, place, , weight]) => {
            const head = headOfPart(part);
            const words = partWords(part);
            return [head ? buttonFor(() => follow(head, place), words, 'name') : words,
                weight === null ? ' → ' : ` (weight ${weight.toFixed(2)}) → `];
        });
        this.add('p', [`${side} path: `, ...this.label(side, reads ?? at), ' → ', ...parts,
            element('b', this.why.tensor.shownHead(state.head))], 'path');
    }

    // A large part is no proof of need: a run without the largest head of the key side.
    proof() {
        const { head: to, layer, tensor } = this.why;
        const words = 'A large part is no proof of need: see what the weight is without it.';
        this.add('p', words, 'quiet');
        const heads = this.cells('key').filter(({ part }) => /^L\d+\.H/.test(part));
        const [best] = heads.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
        if (!best?.value || this.origin.of === 'cross_weights') return;
        const [, , from, , head] = HEAD_PART.exec(best.part);
        const edit = `h.${from}.context[head=${head},token=${this.cell.column}] = 0`;
        this.box.append(commandLine(commandOf(tensor.sentence, 'run', [
            ...['--edit', edit, '--show', 'weights', '--layer', String(layer)],
            ...['--head', String(to), '--query', String(this.cell.row)],
        ])));
    }
}
