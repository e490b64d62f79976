// The panel beside a matrix or lines that explains the cell that is kept.

const WHY_LISTED = 512; // keys of a softmax that are listed: more are slow to draw

// A bar from 0, left or right of the middle where numbers have signs.
function barOf(value, most, signed) {
    const bar = element('span', '', 'meter');
    const share = most > 0 && Number.isFinite(value) ? Math.abs(value) / most : 0;
    const width = signed ? 50 * share : 100 * share;
    const inner = element('i', '', value < 0 ? 'below' : '');
    inner.style.width = `${width}%`;
    inner.style.marginLeft = `${signed ? (value < 0 ? 50 - width : 50) : 0}%`;
    bar.append(inner);
    return bar;
}

// A table whose lines are dims or keys; columns are [name, numbers]. `kind` ties lines that are
// about the same, in all tables of the panel.
function whyTable(kind, names, columns, marked, choose) {
    const table = element('table', '', 'why');
    const head = table.createTHead().insertRow();
    for (const name of [kind, ...columns.map((column) => column[0])])
        head.append(headerCell(name, 'col'));
    const scales = columns.map(([, numbers]) => {
        const sizes = [...numbers].filter(Number.isFinite).map(Math.abs);
        return [Math.max(0, ...sizes), [...numbers].some((value) => value < 0)];
    });
    const body = table.createTBody();
    names.forEach((name, at) => {
        const line = body.insertRow();
        line.dataset[kind] = at;
        if (at === marked) line.setAttribute('aria-current', 'true');
        const label = headerCell('', 'row');
        label.append(choose ? buttonFor(() => choose(at), name) : name);
        line.append(label);
        columns.forEach(([, numbers], column) => {
            const cell = line.insertCell();
            cell.append(element('span', exact(Math.fround(numbers[at]))));
            if (Number.isFinite(numbers[at])) cell.append(barOf(numbers[at], ...scales[column]));
        });
    });
    const region = tableRegion(document.createDocumentFragment(), `each ${kind}`);
    region.append(table);
    return region;
}

// One whose lines are all dims.
function dimTable(columns, marked) {
    return whyTable('dim', [...columns[0][1].keys()].map(String), columns, marked);
}

class WhyPanel {
    constructor(panel, why) {
        Object.assign(this, { panel, why });
        panel.replaceChildren();
        panel.hidden = false;
        this.heading();
        if (why.numbers) this.steps();
        else this.cost();
        panel.onmouseover = (event) => this.tie(event.target.closest('tr'));
        panel.onmouseleave = () => this.tie(null);
    }

    // Lines that are about the same dim or key, in all tables.
    tie(line) {
        const data = line ? line.dataset : {};
        for (const other of this.panel.querySelectorAll('tbody tr'))
            other.classList.toggle(
                'tied',
                (data.dim !== undefined && other.dataset.dim === data.dim) ||
                    (data.key !== undefined && other.dataset.key === data.key),
            );
    }

    heading() {
        const { why } = this;
        const { tensor } = why;
        const heading = element('h2', 'Why this number? ');
        heading.append(buttonFor(letGo, 'Close', '', { title: 'Esc' }));
        this.panel.append(heading);
        if (!why.numbers) return;
        const keys = why.numbers.weights.tensor;
        this.query = quoted(keys.label('row', why.row));
        this.keyName = quoted(keys.label('column', why.key));
        const words =
            `${this.query} (${why.row}) looks at ${this.keyName} (${why.key}) · ` +
            `${tensor.layerName()} ${tensor.headName(tensor.heads.indexOf(why.head))}`;
        this.panel.append(element('p', words));
        drawVerdict(this.panel, why, keys);
    }

    // What is not in the page, what it would take, and how to get it.
    cost() {
        const { sentence, layer } = this.why.tensor;
        const name = this.why.head === null ? '' : `${layer}.${this.why.head}`;
        const { layers, heads } = sentence.attention;
        const bytes = [sentence.explained_bytes, sentence.explained_bytes / (layers * heads)];
        const [all, one] = bytes.map((size) => Math.ceil(size || 0).toLocaleString('en'));
        const page = (list) => commandOf(sentence, 'page', ['--explain', list, '-o', 'page.html']);
        const words = name
            ? `This page does not hold the queries, keys and values of head ${name}. ` +
              `Those of one head take ${one} bytes, those of all heads ${all}.`
            : 'A mean of heads is explained by none of them: choose a head.';
        this.panel.append(element('p', words));
        if (name) this.panel.append(commandLine(page(name)));
        this.panel.append(commandLine(page('all')));
    }

    step(title, formula) {
        this.number = (this.number || 0) + 1;
        this.panel.append(element('h3', `${this.number}  ${title}`));
        if (formula) this.panel.append(element('p', formula, 'formula'));
    }

    steps() {
        const { why } = this;
        this.rotation();
        this.product();
        this.score();
        this.softmax();
        this.values();
        this.panel.append(commandLine(why.command()));
    }

    rotation() {
        const { why } = this;
        const [q, k] = [why.of('q_pre', why.row), why.of('k_pre', why.key)];
        if (!q) return;
        this.step('Rotation', `by the places ${why.row} and ${why.key}: lengths stay`);
        const columns = [
            ['q before', q],
            ['q', why.of('q', why.row)],
            ['k before', k],
            ['k', why.of('k', why.key)],
        ];
        this.panel.append(dimTable(columns));
    }

    product() {
        const { why } = this;
        const [q, k] = why.pair();
        const names = why.ways.linear ? ['φ(q)', 'φ(k)'] : ['q', 'k'];
        this.step(
            'Query times key',
            `${names[0]} of ${this.query} × ${names[1]} of ${this.keyName}`,
        );
        const columns = [
            [names[0], q],
            [names[1], k],
            [`${names[0]} · ${names[1]}`, why.products()],
        ];
        this.panel.append(dimTable(columns));
    }

    line(name, words, value, id = '') {
        const line = element('p', '', 'sum');
        const number = element('b', exact(value));
        number.dataset.name = id || name;
        line.append(element('span', name), ` ${words} = `, number);
        this.panel.append(line);
    }

    score() {
        const { why } = this;
        this.step('Score, scale, mask');
        this.line('score', `the sum of these ${why.products().length} products`, why.score);
        for (const [name, words, value] of why.bends())
            if (!Number.isNaN(value)) this.line(name, words, value);
            else this.panel.append(element('p', `${name} ${words}`, 'sum'));
        this.line('masked', why.hidden ? 'this key is not seen' : 'this key is seen', why.masked);
    }

    softmax() {
        const { why } = this;
        const { tensor } = why.numbers.weights;
        const rows = why.softmax().slice(0, WHY_LISTED);
        const titles = why.ways.linear
            ? ['masked / its sum', '']
            : why.ways.renormalise
              ? ['softmax, masked, divided by its sum', '']
              : ['e^(masked − max) / Σ', 'e^(masked − max)'];
        this.step('Softmax of the row', `weight = ${titles[0]}`);
        const columns = [
            [why.ways.renormalise ? 'softmax' : 'masked', rows.map((row) => row.masked)],
        ];
        if (titles[1]) columns.push([titles[1], rows.map((row) => row.power)]);
        columns.push(['weight', rows.map((row) => row.weight)]);
        const names = rows.map((row) => `${row.key} ${tensor.label('column', row.key)}`);
        const go = (key) => keepCell({ row: why.row, column: key });
        this.panel.append(
            whyTable('key', names, columns, why.key, why.tensor.columns === 'key' ? go : null),
        );
        this.line('weight', `of ${this.keyName}`, why.weight);
    }

    values() {
        const { why } = this;
        const value = why.of('v', why.key);
        const parts = value.map((number) => Math.fround(why.weight * number));
        this.step('Weighted value', `weight · v of ${this.keyName}, of all keys summed: context`);
        const columns = [
            ['v', value],
            ['weight · v', parts],
            ['context', why.of('context', why.row)],
        ];
        this.panel.append(dimTable(columns, why.dim));
    }
}

// Keep another cell of the matrix or the lines that are shown, and stay where the keyboard is.
function keepCell(cell) {
    const inStage = byId('stage').contains(document.activeElement);
    const inPanel = byId('why').contains(document.activeElement);
    state.kept = cell;
    keepRoomForWhy();
    drawStage();
    drawWhy();
    rememberState();
    if (inStage) byId('stage').querySelector('canvas[tabindex]')?.focus();
    if (inPanel) (byId('why').querySelector('[aria-current] button') || byId('why')).focus();
}

// May cells of what is shown be explained?
function explainsCells() {
    const tensor = shownTensor();
    const fits = tensor.sentence.attention && WHY_TENSORS.test(tensor.tensor);
    const labels = tensor.labels('row');
    const tokens = tensor.sentence.tokens?.[tensor.tensor.startsWith('enc.') ? 1 : 0];
    const words = fits && labels && labels.length !== tokens; // on the axes
    const several = state.view === 'lines' && shownHeads().length > 1;
    return fits && !words && !several && ['matrix', 'lines'].includes(state.view);
}

// Before the room beside it is measured.
function keepRoomForWhy() {
    byId('why').hidden = !state.kept || !explainsCells();
}

// Beside the stage, of what is kept there.
function drawWhy() {
    keepRoomForWhy();
    const panel = byId('why');
    if (panel.hidden) return;
    const head = state.view === 'lines' ? shownHeads()[0] : state.head;
    new WhyPanel(panel, new Why(shownTensor(), head, state.kept));
}
