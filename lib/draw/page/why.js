// Why a cell has its weight: a panel over the third column. The verdict comes first, tables are
// folded.

const WHY_LISTED = 512; // keys of a softmax that are listed: more are slow to draw
const RIVALS = 3;
const DIMS_LISTED = 6;
const HEADS_LISTED = 3;

// True if cells of the matrix can be explained.
function explains() {
    const [tensor] = comparedTensors();
    const fits = tensor.sentence.attention && WHY_TENSORS.test(tensor.tensor);
    if (tensor.isMixer) return !state.lesson && !showsChange();
    const labels = tensor.labels('row');
    const tokens = tensor.sentence.tokens?.[tensor.tensor.startsWith('enc.') ? 1 : 0];
    const words = fits && labels && labels.length !== tokens; // merged subwords
    return Boolean(fits && !words && !state.lesson);
}

function openWhy(cell) {
    if (!explains()) return;
    state.kept = { row: cell.row, column: cell.column };
    state.why = true;
    const { top } = byId('columns').getBoundingClientRect(); // keep the verdict in the window
    byId('why').style.setProperty('--top', `${Math.max(0, -top)}px`);
    hovered = null;
    drawWhy();
    highlight();
    rememberState();
    byId('why').focus({ preventScroll: true });
}

// The focus returns to the matrix.
function closeWhy() {
    const inside = byId('why').contains(document.activeElement);
    state.why = false;
    drawWhy();
    rememberState();
    if (inside) views.matrix.over.focus();
}

function drawWhy() {
    const panel = byId('why');
    panel.classList.toggle('open', state.why && Boolean(state.kept) && explains());
    panel.inert = !panel.classList.contains('open');
    if (panel.inert) return;
    const focused = panel.contains(document.activeElement);
    panel.replaceChildren();
    for (const tensor of comparedTensors())
        if (tensor.isMixer) drawMemoryPanel(panel, tensor);
        else new WhyPanel(panel, new Why(tensor, state.head, state.kept));
    if (focused) panel.focus();
}

// A table of dims or keys; `columns`: lists of numbers by name.
function whyTable(kind, names, columns, marked) {
    const lists = Object.values(columns);
    const textOf = (row, column) => exact(Math.fround(lists[column][row]));
    const options = { corner: kind, marked, className: 'numbers' };
    return tableRegion(`each ${kind}`, tableOf(Object.keys(columns), names, textOf, options));
}

function dimTable(columns, marked) {
    const [first] = Object.values(columns);
    return whyTable('dim', [...first.keys()].map(String), columns, marked);
}

// "score sum of 24 products = 1.5"
function sumLine(name, words, value) {
    const number = element('b', exact(value), '', { 'data-name': name });
    return element('p', [element('span', name), ` ${words} = `, number], 'sum');
}

// The heads that a page explains, and one more, as in --explain.
function explainedNames(sentence, name) {
    const held = sentence.explainedTensors
        .filter((tensor) => tensor.isAttention && tensor.heads)
        .flatMap((tensor) => tensor.heads.map((head) => `${tensor.layer}.${head}`));
    return [...new Set([...held, name])].join(',');
}

// What a page lacks to explain a head, and the commands that include it.
function lacksOfHead(sentence, name, ...others) {
    const { layers, heads } = sentence.attention;
    const bytes = sentence.explained_bytes || 0;
    const sizes = [bytes / (layers * heads), bytes];
    const [one, all] = sizes.map((size) => Math.ceil(size).toLocaleString('en'));
    const words =
        `This page does not contain the queries, keys and values of ${shownHead(name)}. ` +
        `Those of one head take about ${one} bytes, those of all heads ${all}. To include them:`;
    const commands = [explainedNames(sentence, name), ...others].map((list) =>
        commandLine(commandOf(sentence, 'page', ['--explain', list, '-o', 'page.html'])));
    return [element('p', words), ...commands];
}

// What a panel is about, with a button that closes it in the first of two.
function putWhyHead(panel, ...words) {
    const close = [element('span', 'Close', 'hidden'), element('kbd', 'Esc'), icon('close')];
    const button = !panel.firstChild && buttonFor(closeWhy, close, 'close');
    panel.append(element('p', [element('span', words), button], 'why-head'));
}

// `name`: a text or elements.
function whyBar(name, share, text, options) {
    const parts = [element('span', name, 'name'), meter(share, options)];
    return element('div', [...parts, element('span', text, 'value')], 'bar');
}

class WhyPanel {
    constructor(panel, why) {
        Object.assign(this, { panel, why });
        this.keys = why.of?.weights || why.tensor;
        this.column = why.key ?? state.kept.column;
        this.heading();
        drawTrail(panel);
        if (why.of) {
            this.verdict();
            this.rivals();
            this.lead();
        } else this.share();
        this.otherHeads();
        this.origins();
        if (why.of) this.tables();
        else this.cost();
    }

    label(axis, at) {
        return this.keys.label(axis, at);
    }

    heading() {
        const { column, panel, why } = this;
        const name = why.tensor.shownHead(state.head) + runWord(why.tensor);
        const [query, key] = [this.label('row', why.row), this.label('column', column)];
        putWhyHead(panel, `${name} · query `, element('b', query), ` ${why.row} → key `,
            element('b', key), ` ${column}`);
    }

    add(name, parts, className) {
        this.panel.append(element(name, parts, className));
    }

    // Of the first token of a causal model.
    first() {
        if (this.why.row === 0 && this.why.tensor.causal) this.add('p', FIRST_WORDS, 'lead');
    }

    // Without queries and keys: an explanation from the weights alone.
    share() {
        const { tensor } = this.why;
        const value = tensor.at(state.head, state.kept.row, state.kept.column);
        if (Number.isNaN(value)) this.add('h2', MASKED_VERDICT, 'verdict');
        else if (tensor.isAttention)
            this.add('h2', `${percent(value)} of this query’s attention`, 'verdict');
        this.first();
    }

    verdict() {
        const { why } = this;
        // the keys of the row from the highest weight on
        this.sorted = why.softmax().filter((one) => Number.isFinite(one.masked))
            .sort((a, b) => b.weight - a.weight);
        const rank = 1 + this.sorted.findIndex((one) => one.key === why.key);
        const place = rank === 1 ? 'the highest' : `rank ${rank}`;
        const words = `${place} of ${this.sorted.length} visible keys`;
        this.add('h2', why.hidden ? MASKED_VERDICT
            : `${percent(why.weight)} of this query’s attention, ${words}`, 'verdict');
        this.first();
        if (why.hidden) return;
        this.rival = this.sorted[rank === 1 ? 1 : 0];
        if (this.rival && !why.ways.linear) this.add('p', this.rivalWords(rank), 'lead');
    }

    // "Its scaled score, 14.42, is 1.43 above “red” 0, the next key: 4.2 times the weight."
    rivalWords(rank) {
        const { why, rival } = this;
        const by = why.masked - rival.masked;
        const name = `${quoted(this.label('column', rival.key))} ${rival.key}`;
        const times = rank === 1 ? why.weight / rival.weight : rival.weight / why.weight;
        const factor = times < 1000 ? times.toFixed(1) : '> 1000';
        const key = rank === 1 ? 'the next key:' : 'the highest key, which has';
        const size = Math.abs(by).toFixed(2);
        const side = by < 0 ? 'below' : 'above';
        const score = `Its scaled score, ${brief(why.masked)}, is ${size} ${side} ${name}`;
        return `${score}, ${key} ${factor} times the weight.`;
    }

    rivals() {
        const { panel, sorted, why } = this;
        if (why.hidden) return;
        const put = (name, share, quiet) =>
            panel.append(whyBar(name, share, percent(share), { quiet }));
        const others = sorted.filter((one) => one.key !== why.key);
        const rest = others.splice(RIVALS - 1);
        for (const one of [sorted.find(({ key }) => key === why.key), ...others]) {
            const isOther = one.key !== why.key;
            const name = element(isOther ? 'span' : 'b', this.label('column', one.key));
            put([name, ` ${one.key}`], one.weight, isOther);
        }
        const words = `${rest.length} other key${rest.length > 1 ? 's' : ''}`;
        if (rest.length) put(words, rest.reduce((all, one) => all + one.weight, 0), true);
    }

    // Softmax depends on differences: each dim's part of the lead over the next key.
    lead() {
        const { panel, rival, why } = this;
        if (why.hidden || !rival || why.ways.linear || why.ways.renormalise) return;
        const lead = why.masked - rival.masked;
        const parts = why.leadOver(rival.key);
        const name = `${lead < 0 ? 'Deficit' : 'Lead'} of ${Math.abs(lead).toFixed(2)}`;
        const sign = why.ways.cap > 0 ? ', before the cap' : '';
        const words = `q · (k − k of ${quoted(this.label('column', rival.key))}) × scale${sign}`;
        this.add('h3', [`${name} by dimension `, element('span', words, 'quiet')]);
        const list = [...parts].map((value, dim) => ({ name: `dim ${dim}`, value }));
        const sum = parts.reduce((all, value) => all + value, 0);
        if (!(why.ways.cap > 0) && Math.abs(lead - sum) > 1e-3)
            list.push({ name: 'position', value: lead - sum });
        list.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
        const rest = list.splice(DIMS_LISTED);
        const most = Math.abs(list[0].value);
        list.sort((a, b) => b.value - a.value);
        const others = rest.reduce((all, one) => all + one.value, 0);
        if (rest.length) list.push({ name: `${rest.length} others`, value: others, quiet: true });
        for (const { name: of, value, quiet } of list)
            panel.append(whyBar(of, value / most, signedText(value, 2), { signed: true, quiet }));
    }

    otherHeads() {
        const { column, keys, why } = this;
        const all = headsOf(keys.sentence, state.kind)
            .filter(({ tensor }) => sameShape(tensor, why.tensor) && tensor.isAttention)
            .map((one) => ({ ...one, value: one.tensor.at(one.head, why.row, column) }))
            .filter(({ value }) => value > 0)
            .sort((a, b) => b.value - a.value);
        if (all.length < 2) return;
        this.add('h3', 'Heads with the most weight on this cell');
        const kept = { row: why.row, column };
        this.add('p', all.slice(0, HEADS_LISTED).map((one) => headName(one, { kept },
            [element('b', shownHead(one.name)), ` ${one.value.toFixed(2)}`])), 'names');
    }

    fold(name, note, make) {
        const words = [icon('chevron'), element('span', name), element('span', note, 'quiet')];
        const details = element('details', [element('summary', words)]);
        details.addEventListener('toggle', () => details.append(...make()), { once: true });
        this.panel.append(details);
        return details;
    }

    origins() {
        const { column, why } = this;
        const cell = { row: state.kept.row, column };
        const isHead = why.head !== null && why.tensor.columns === 'key';
        const hidden = why.of ? why.hidden
            : Number.isNaN(this.keys.at(state.head, cell.row, column));
        if (!isHead || hidden || why.tensor.sentence.files) return;
        const name = 'Where do query and key come from?';
        const fold = this.fold(name, '', () => [new OriginView(why, cell).box]);
        fold.open = state.origins; // as on the way to this head
        fold.addEventListener('toggle', () => (state.origins = fold.open));
    }

    tables() {
        const { why } = this;
        this.fold('Query times key', `${why.products().length} dimensions`, () => this.product());
        this.fold('Scale, mask, softmax', `${why.softmax().length} keys`, () => this.softmax());
        this.fold('Weighted value', 'added to the context', () => this.values());
        const ends = ['', ' -o walk.html'];
        if (!why.tensor.sentence.command?.includes('--precision')) // explain has no --precision
            this.fold('All steps as a document', '', () =>
                ends.map((end) => commandLine(why.command() + end)));
    }

    product() {
        const { of, key, row, ways } = this.why;
        const [q, k] = this.why.pair();
        const [nameOfQ, nameOfK] = ways.linear ? ['φ(q)', 'φ(k)'] : ['q', 'k'];
        const product = `${nameOfQ} · ${nameOfK}`;
        const table = dimTable({ [nameOfQ]: q, [nameOfK]: k, [product]: this.why.products() });
        const before = of('q_pre', row);
        if (!before) return [table];
        const turned = { 'q before': before, q: of('q', row), 'k before': of('k_pre', key),
            k: of('k', key) };
        const words = `Rotary embedding of positions ${row} and ${key}`;
        return [element('p', words), dimTable(turned), table];
    }

    softmax() {
        const { why } = this;
        const { heads, linear, renormalise } = why.ways;
        const rows = why.softmax().slice(0, WHY_LISTED);
        const column = (of) => rows.map((row) => row[of]);
        const names = rows.map(({ key }) => `${key} ${this.label('column', key)}`);
        const columns = {
            [renormalise ? 'softmax' : 'masked score']: column('masked'),
            ...(!linear && !renormalise && { 'e^(masked − max)': column('power') }),
            weight: column('weight'),
        };
        const seen = why.hidden ? 'the query cannot see this key' : 'the query sees this key';
        const difference = why.of('difference', why.row)?.[why.key];
        const first = why.head % (heads / 2); // of two heads that make one
        const pair = `of the weights of heads ${first} and ${first + heads / 2}`;
        return [
            sumLine('score', `sum of ${why.products().length} products`, why.score),
            ...why.bends().map(([name, words, value]) => (Number.isNaN(value)
                ? element('p', `${name} ${words}`, 'sum') : sumLine(name, words, value))),
            sumLine('masked score', seen, why.hidden ? -Infinity : why.masked),
            whyTable('key', names, columns, why.key),
            sumLine('weight', `of ${quoted(this.label('column', why.key))}`,
                why.hidden ? 0 : why.weight),
            ...(difference === undefined ? [] : [sumLine('difference', pair, difference)]),
        ];
    }

    values() {
        const { of, dim, key, row, weight } = this.why;
        const v = of('v', key);
        const differences = of('difference', row);
        const by = differences?.[key] ?? weight;
        const parts = v.map((number) => Math.fround((by || 0) * number));
        const name = `${differences ? 'difference' : 'weight'} × v`;
        return [dimTable({ v, [name]: parts, context: of('context', row) }, dim)];
    }

    // Tensors that the page lacks, their size, and the command that adds them.
    cost() {
        const { head, layer, tensor: { sentence } } = this.why;
        if (live.engine) this.add('p', 'Shorter texts are explained from queries and keys, too.');
        if (sentence.files) this.add('p', NO_MODEL);
        if (head === null || live.engine || sentence.files) return;
        this.panel.append(...lacksOfHead(sentence, `${layer}.${head}`, 'all'));
    }
}

const FIRST_WORDS = 'The first word sees only itself: later words are masked.';
const MASKED_VERDICT = 'Masked: the query cannot see this key, so its weight is 0.';
