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

// A table of dims or keys; columns are [name, numbers].
function whyTable(kind, names, columns, marked) {
    const heads = columns.map(([name]) => name);
    const textOf = (row, column) => exact(Math.fround(columns[column][1][row]));
    const region = tableRegion(document.createDocumentFragment(), `each ${kind}`);
    region.append(tableOf(heads, names, textOf, { corner: kind, marked, className: 'numbers' }));
    return region;
}

function dimTable(columns, marked) {
    return whyTable('dim', [...columns[0][1].keys()].map(String), columns, marked);
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
        commandLine(commandOf(sentence, 'page', ['--explain', list, '-o', 'page.html'])),
    );
    return [element('p', words), ...commands];
}

function closeButton() {
    const close = buttonFor(closeWhy, '', 'close');
    close.append(element('span', 'Close', 'hidden'), element('kbd', 'Esc'), icon('close'));
    return close;
}

// `name`: a text or elements.
function whyBar(name, share, text, options) {
    const label = withParts(element('span', '', 'name'), ...[name].flat());
    const value = element('span', text, 'value');
    return withParts(element('div', '', 'bar'), label, meter(share, options), value);
}

class WhyPanel {
    constructor(panel, why) {
        Object.assign(this, { panel, why });
        this.keys = why.numbers ? why.numbers.weights.tensor : why.tensor;
        this.heading();
        drawTrail(panel);
        if (why.numbers) {
            this.verdict();
            this.rivals();
            this.lead();
        } else this.share();
        this.otherHeads();
        this.origins();
        if (why.numbers) this.tables();
        else this.cost();
        this.document();
    }

    label(axis, at) {
        return this.keys.label(axis, at);
    }

    heading() {
        const { why } = this;
        const line = element('p', '', 'why-head');
        const key = why.key ?? state.kept.column;
        const name = why.tensor.shownHead(state.head) + runWord(why.tensor);
        const words = element('span', `${name} · query `);
        words.append(element('b', this.label('row', why.row)), ` ${why.row} → key `);
        words.append(element('b', this.label('column', key)), ` ${key}`);
        line.append(words);
        if (!this.panel.firstChild) line.append(closeButton());
        this.panel.append(line);
    }

    say(text, className) {
        this.panel.append(element('p', text, className));
    }

    title(text) {
        this.panel.append(element('h2', text, 'verdict'));
    }

    // Of the first token of a causal model.
    first() {
        if (this.why.row === 0 && this.why.tensor.causal) this.say(FIRST_WORDS, 'lead');
    }

    // Without queries and keys: an explanation from the weights alone.
    share() {
        const { tensor } = this.why;
        const value = tensor.at(state.head, state.kept.row, state.kept.column);
        if (Number.isNaN(value)) this.title(MASKED_VERDICT);
        else if (tensor.isAttention) this.title(`${percent(value)} of this query’s attention`);
        this.first();
    }

    // The keys of the row from the highest weight on.
    get sorted() {
        const rows = this.why.softmax().filter((one) => Number.isFinite(one.masked));
        return rows.sort((a, b) => b.weight - a.weight);
    }

    verdict() {
        const { why } = this;
        if (why.hidden) this.title(MASKED_VERDICT);
        if (why.hidden) return this.first();
        const rows = this.sorted;
        const rank = 1 + rows.findIndex((one) => one.key === why.key);
        const place = rank === 1 ? 'the highest' : `rank ${rank}`;
        const words = `${place} of ${rows.length} visible keys`;
        this.title(`${percent(why.weight)} of this query’s attention, ${words}`);
        this.first();
        this.rival = rank === 1 ? rows[1] : rows[0];
        if (this.rival && !why.ways.linear) this.say(this.rivalWords(rank), 'lead');
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

    bar(...facts) {
        this.panel.append(whyBar(...facts));
    }

    rivals() {
        const { why } = this;
        if (why.hidden) return;
        const rows = this.sorted;
        const mine = rows.find((one) => one.key === why.key);
        const others = rows.filter((one) => one !== mine);
        const name = (one, strong) => [
            element(strong ? 'b' : 'span', this.label('column', one.key)),
            ` ${one.key}`,
        ];
        this.bar(name(mine, true), mine.weight, percent(mine.weight));
        for (const one of others.slice(0, RIVALS - 1))
            this.bar(name(one), one.weight, percent(one.weight), { quiet: true });
        const rest = others.slice(RIVALS - 1);
        const sum = rest.reduce((all, one) => all + one.weight, 0);
        const words = `${rest.length} other key${rest.length > 1 ? 's' : ''}`;
        if (rest.length) this.bar(words, sum, percent(sum), { quiet: true });
    }

    // Softmax depends on differences: each dim's part of the lead over the next key.
    lead() {
        const { why, rival } = this;
        if (why.hidden || !rival || why.ways.linear || why.ways.renormalise) return;
        const lead = why.masked - rival.masked;
        const parts = why.leadOver(rival.key);
        const name = `${lead < 0 ? 'Deficit' : 'Lead'} of ${Math.abs(lead).toFixed(2)}`;
        const title = element('h3', `${name} by dimension `);
        const sign = why.ways.cap > 0 ? ', before the cap' : '';
        const words = `q · (k − k of ${quoted(this.label('column', rival.key))}) × scale${sign}`;
        title.append(element('span', words, 'quiet'));
        this.panel.append(title);
        const list = [...parts].map((value, dim) => ({ name: `dim ${dim}`, value }));
        const sum = parts.reduce((all, value) => all + value, 0);
        if (!(why.ways.cap > 0) && Math.abs(lead - sum) > 1e-3)
            list.push({ name: 'position', value: lead - sum });
        list.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
        const top = list.slice(0, DIMS_LISTED).sort((a, b) => b.value - a.value);
        const most = Math.max(...top.map((one) => Math.abs(one.value)));
        const put = (name, value, quiet) =>
            this.bar(name, value / most, signedText(value, 2), { signed: true, quiet });
        for (const one of top) put(one.name, one.value);
        const rest = list.slice(DIMS_LISTED);
        const others = rest.reduce((all, one) => all + one.value, 0);
        if (rest.length) put(`${rest.length} others`, others, true);
    }

    otherHeads() {
        const { why, keys } = this;
        const column = why.key ?? state.kept.column;
        const all = headsOf(keys.sentence, state.kind)
            .filter(({ tensor }) => sameShape(tensor, why.tensor) && tensor.isAttention)
            .map((one) => ({ ...one, value: one.tensor.at(one.head, why.row, column) }))
            .filter(({ value }) => value > 0)
            .sort((a, b) => b.value - a.value);
        if (all.length < 2) return;
        this.panel.append(element('h3', 'Heads with the most weight on this cell'));
        const line = element('p', '', 'names');
        for (const one of all.slice(0, HEADS_LISTED)) {
            const go = () =>
                set({ layer: one.layer, head: one.head, kept: { row: why.row, column } });
            const here = one.layer === state.layer && one.head === state.head;
            const own = buttonFor(go, '', 'name', { 'aria-pressed': here });
            own.append(element('b', shownHead(one.name)), ` ${one.value.toFixed(2)}`);
            line.append(own);
        }
        this.panel.append(line);
    }

    fold(name, note, fill) {
        const details = element('details');
        const summary = element('summary');
        summary.append(icon('chevron'), element('span', name), element('span', note, 'quiet'));
        details.append(summary);
        details.addEventListener('toggle', () => fill(details), { once: true });
        this.panel.append(details);
        return details;
    }

    origins() {
        const { why } = this;
        const column = why.key ?? state.kept.column;
        const cell = { row: state.kept.row, column };
        const isHead = why.head !== null && why.tensor.columns === 'key';
        const hidden = why.numbers
            ? why.hidden
            : Number.isNaN(this.keys.at(state.head, cell.row, column));
        if (!isHead || hidden || why.tensor.sentence.files) return;
        const name = 'Where do query and key come from?';
        const fold = this.fold(name, '', (to) => new OriginView(to, why, cell));
        fold.open = state.origins; // as on the way to this head
        fold.addEventListener('toggle', () => (state.origins = fold.open));
    }

    tables() {
        const { why } = this;
        const dims = `${why.products().length} dimensions`;
        this.fold('Query times key', dims, (to) => this.product(to));
        this.fold('Scale, mask, softmax', `${why.softmax().length} keys`, (to) => this.softmax(to));
        this.fold('Weighted value', 'added to the context', (to) => this.values(to));
    }

    product(to) {
        const { why } = this;
        const [before, kBefore] = [why.of('q_pre', why.row), why.of('k_pre', why.key)];
        if (before) {
            to.append(element('p', `Rotary embedding of positions ${why.row} and ${why.key}`));
            const [q, k] = [why.of('q', why.row), why.of('k', why.key)];
            to.append(dimTable(Object.entries({ 'q before': before, q, 'k before': kBefore, k })));
        }
        const [q, k] = why.pair();
        const names = why.ways.linear ? ['φ(q)', 'φ(k)'] : ['q', 'k'];
        const products = [`${names[0]} · ${names[1]}`, why.products()];
        to.append(dimTable([[names[0], q], [names[1], k], products]));
    }

    line(to, name, words, value, id = '') {
        const line = element('p', '', 'sum');
        const number = element('b', exact(value));
        number.dataset.name = id || name;
        line.append(element('span', name), ` ${words} = `, number);
        to.append(line);
    }

    softmax(to) {
        const { why } = this;
        const { tensor } = why.numbers.weights;
        this.line(to, 'score', `sum of ${why.products().length} products`, why.score);
        for (const [name, words, value] of why.bends())
            if (!Number.isNaN(value)) this.line(to, name, words, value);
            else to.append(element('p', `${name} ${words}`, 'sum'));
        const seen = why.hidden ? 'the query cannot see this key' : 'the query sees this key';
        this.line(to, 'masked', seen, why.hidden ? -Infinity : why.masked);
        const rows = why.softmax().slice(0, WHY_LISTED);
        const { linear, renormalise } = why.ways;
        const columns = [[renormalise ? 'softmax' : 'masked', rows.map((row) => row.masked)]];
        if (!linear && !renormalise)
            columns.push(['e^(masked − max)', rows.map((row) => row.power)]);
        columns.push(['weight', rows.map((row) => row.weight)]);
        const names = rows.map((row) => `${row.key} ${tensor.label('column', row.key)}`);
        to.append(whyTable('key', names, columns, why.key));
        const words = `of ${quoted(this.label('column', why.key))}`;
        this.line(to, 'weight', words, why.hidden ? 0 : why.weight);
        const difference = why.of('difference', why.row)?.[why.key];
        if (difference === undefined) return;
        const half = why.ways.heads / 2;
        const pair = `${why.head % half} and ${(why.head % half) + half}`;
        this.line(to, 'difference', `of the weights of heads ${pair}`, difference);
    }

    values(to) {
        const { why } = this;
        const value = why.of('v', why.key);
        const name = why.numbers.difference ? 'difference' : 'weight';
        const weight = why.of('difference', why.row)?.[why.key] ?? why.weight;
        const parts = value.map((number) => Math.fround((weight || 0) * number));
        const context = why.of('context', why.row);
        const columns = Object.entries({ v: value, [`${name} · v`]: parts, context });
        to.append(dimTable(columns, why.dim));
    }

    // Tensors that the page lacks, their size, and the command that adds them.
    cost() {
        const { why } = this;
        const { sentence, layer } = why.tensor;
        if (live.engine) this.say('Shorter texts are explained from queries and keys, too.');
        if (sentence.files) this.say(NO_MODEL);
        if (why.head === null || live.engine || sentence.files) return;
        this.panel.append(...lacksOfHead(sentence, `${layer}.${why.head}`, 'all'));
    }

    document() {
        const { why } = this;
        if (!why.numbers) return;
        this.fold('All steps as a document', '', (to) =>
            to.append(commandLine(why.command()), commandLine(`${why.command()} -o walk.html`)),
        );
    }
}

const FIRST_WORDS = 'The first word sees only itself: later words are masked.';
const MASKED_VERDICT = 'Masked: the query cannot see this key, so its weight is 0.';
