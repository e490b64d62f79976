// The first picture of each step of the lesson: what the step shows, before any table. Numbers are
// those of the step's model, with the decimals of the texts.

const places = (value) => (value === -Infinity ? '−∞' : minus(value.toFixed(LESSON_PLACES)));

// The pictures that a step names, such as "adds:9:2" or "plane+softmax"; null: none.
function pictureOf(step) {
    const names = (step.lesson.picture || '').split('+').filter(Boolean);
    if (!names.length) return null;
    const picture = element('div', '', 'picture',
        { 'data-figure': 'picture', translate: 'no', style: `--letters: ${step.size}px` });
    const draw = (row) => {
        const of = row === undefined ? step
            : Object.assign(Object.create(step), { isChosen: true,
                marks: [{ ...step.marks[0], row }] });
        picture.replaceChildren(...names.map((words) => {
            const [name, ...places] = words.split(':');
            return element('div', PICTURES[name](of, ...places.map(Number)));
        }));
        if (!names.some((one) => OF_A_QUERY.test(one)) || state.printing || isProjecting()) return;
        picture.prepend(queryChoice(of, draw));
        const point = document.querySelector('.point'); // it is about the query of the step
        const [{ tensor, row: usual }] = step.marks;
        const isNamed = step.lesson.point.includes(`'${tensor.label('row', usual)}'`);
        point?.classList.toggle('aside', isNamed && of.marks[0].row !== usual);
    };
    draw();
    return picture;
}

const OF_A_QUERY = /^(plane|softmax|weighed)$/;

// The words of the text as buttons, each of which shows itself as the query.
function queryChoice({ marks: [mark] }, draw) {
    const buttons = labelsOf(mark.tensor, 'row').map((word, row) =>
        buttonFor(() => draw(row), element('bdi', word), '', { 'aria-pressed': row === mark.row }));
    return element('div', [say('query'), element('span', buttons, 'segments')], 'choice');
}

// The numbers of the first marked query in its head, as Motion has them.
function queryOf({ sentence, marks: [mark] }) {
    motion.step = { row: mark.row, head: mark.index };
    motion.step.at = Math.max(0, motionTensors().findIndex((one) =>
        one.layer === mark.tensor.layer));
    const found = journeyOf(motion.step.at);
    motion.step = null;
    return { ...found, sentence };
}

// --- tables with bars ----------------------------------------------------------------------------

// A cell of a table: a bar from `from` to `to` on an axis with the ends `low` and `high`, then a
// number, as wide as `letters`, the longest number of its column.
function barCell([from, to], { low, high, letters }, words, isMain, joins) {
    const place = (value) => (100 * (value - low)) / (high - low || 1);
    const bar = element('i', '', to < from ? 'below' : isMain ? 'main' : '');
    bar.style.left = `${place(Math.min(from, to))}%`;
    bar.style.width = `${Math.abs(place(to) - place(from))}%`;
    const tick = (value, className) => {
        const made = element('u', '', className);
        made.style.left = `${place(value)}%`;
        return made;
    };
    const number = element('span', words, 'number');
    number.style.width = `${letters}ch`;
    const ticks = [low < 0 && tick(0, 'zero'), joins && tick(to, 'joint')];
    return element('td', [element('span', [bar, ...ticks], 'track'), number], 'barred');
}

const axisOf = (values) => ({ low: Math.min(0, ...values), high: Math.max(0, ...values),
    letters: Math.max(...values.map((value) => places(value).length)) });

// A table whose rows are [name, values…]; each column has a title, the axis of its bars, and
// perhaps a sum in the last row.
function barTable(rows, columns, isMain = () => false) {
    const heads = columns.map(({ title }) => headerCell(title, 'col'));
    const body = rows.map(([name, ...values], at) => element('tr', [
        headerCell(element('bdi', name), 'row'),
        ...values.map((value, column) => barCell([0, value],
            axisOf(rows.map((row) => row[column + 1])), places(value), isMain(at))),
    ], isMain(at) ? 'main' : ''));
    const hasSums = columns.some(({ sum }) => sum !== undefined);
    const sums = columns.map(({ sum }) => element('td', sum === undefined ? '' : places(sum)));
    const foot = hasSums &&
        element('tfoot', element('tr', [headerCell(say('sum'), 'row'), ...sums]));
    return element('table', [element('thead', element('tr', [element('td'), ...heads])),
        element('tbody', body), foot], `bars-table ${columns.length > 3 ? 'many' : ''}`);
}

// Scores, their exponentials and weights of a query.
function softmaxPicture(step) {
    const { keys, query, scale, q } = queryOf(step);
    const seen = keys.filter(({ hidden }) => !hidden);
    const isScaled = scale !== 1;
    const best = largestOf(seen.map(({ share }) => share));
    const powers = seen.map(({ raw }) => Math.exp(scale * (raw - seen[best].raw)));
    const sum = powers.reduce((all, power) => all + power, 0);
    const rows = seen.map(({ label, raw }, at) =>
        [label, raw, ...(isScaled ? [scale * raw] : []), powers[at], powers[at] / sum]);
    const columns = [{ title: say('score') },
        ...(isScaled ? [{ title: `÷ √${q.length}` }] : []),
        { title: 'e^(… − max)', sum }, { title: say('weight'), sum: 1 }];
    const shares = seen.map(({ label }, at) =>
        ({ label, share: powers[at] / sum, isMain: at === best }));
    return [barTable(rows, columns, (at) => at === best), sharesBar(shares, step),
        caption(say('From # to each word: subtract the highest, raise e to it, divide by the sum.',
            quoted(query)))];
}

// Weights as parts of one bar, which they fill; words where there is room.
function sharesBar(parts, { width, size }) {
    const made = parts.map(({ label, share, isMain }) => {
        const fits = (text) => textWidth(text, size) < share * Math.min(width, 420) - 14;
        const number = ` ${roundShare(share)}`;
        const words = fits(label + number) ? [element('bdi', label), number]
            : fits(label) ? element('bdi', label) : '';
        const part = element('span', words, isMain ? 'main' : '',
            { title: `${quoted(label)} ${places(share)}` });
        part.style.width = `${100 * share}%`;
        return part;
    });
    return element('div', made, 'shares', { role: 'img',
        'aria-label': say('The weights fill a bar of length 1') });
}

// Weights, values, and the products that add up to the context.
function weighedPicture(step) {
    const { keys, own, context } = queryOf(step);
    const all = keys.flatMap(({ v, by }) => [...v].map((value) => Math.abs(value * by)));
    const most = Math.max(...context, ...all);
    const cell = (value, top) => {
        const td = element('td', places(value), 'toned');
        td.style.setProperty('--tone', `${(62 * Math.abs(value)) / top}%`);
        return td;
    };
    const top = Math.max(...keys.flatMap(({ v }) => [...v].map(Math.abs)));
    const axis = axisOf(keys.map(({ by }) => by));
    const rows = keys.map((one) => {
        const { label, v, by } = one;
        return element('tr', [
            headerCell(element('bdi', label), 'row'),
            barCell([0, by], axis, places(by), one === own),
            element('td', '×', 'sign'), ...[...v].map((value) => cell(value, top)),
            element('td', '=', 'sign'), ...[...v].map((value) => cell(value * by, most)),
        ], one === own ? 'main' : '');
    });
    const { length } = context;
    const group = (words) => element('th', words, '', { colspan: length, scope: 'colgroup' });
    const head = element('tr', [element('td'), headerCell(say('weight'), 'col'), element('td'),
        group(say('value')), element('td'), group(say('part of the context'))]);
    const foot = element('tr', [headerCell(say('context'), 'row'),
        element('td', '', '', { colspan: length + 3 }),
        ...[...context].map((value) => cell(value, most))]);
    return [element('table', [element('thead', head), element('tbody', rows),
        element('tfoot', foot)], 'bars-table')];
}

// What is added to a sum, each part from where the last one ended: marked cells of the stream, or a
// column of a table of explain.
function addsPicture(step, section, column) {
    const parts = section ? columnOfTable(step, section, column) : partsOfStream(step);
    let sum = 0;
    const ends = parts.map(({ value }) => [sum, (sum += value)]);
    const axis = axisOf(ends.flat());
    const row = (name, range, value, kind) => element('tr', [headerCell(name, 'row'),
        barCell(range, axis, places(value), true, kind !== 'whole')], kind);
    const [largest] = [...parts].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    return [element('table', element('tbody', [
        ...parts.map((one, at) =>
            row(one.name, ends[at], one.value, one === largest ? 'most' : '')),
        row(say('sum'), [0, sum], sum, 'whole')]), 'bars-table wide-bars'),
        caption(say('Channel # of the vector: each part begins where the last one ends.',
            section ? column : step.marks[0].column))];
}

const STREAM_PARTS = { resid_pre: 'from before', attn_out: '+ attention', mlp_out: '+ MLP' };

const partsOfStream = ({ marks }) => marks
    .filter(({ tensor }) => STREAM_PARTS[tensor.tensor])
    .map(({ tensor, index, row, column }) =>
        ({ name: say(STREAM_PARTS[tensor.tensor]), value: tensor.at(index, row, column) }));

// The rows and numbers of a column in a table of explain, but for the sum, its last row.
function columnOfTable(step, section, name) {
    const table = workedTable(step, section);
    const columns = [...table.tHead.rows].at(-1).cells;
    const at = [...columns].findIndex(({ textContent }) => textContent === String(name));
    return [...table.tBodies[0].rows].map(({ cells }) =>
        ({ name: cells[0].textContent, value: Number(cells[at].textContent) }));
}

// The last table of a section of explain, which has its results; without a number, of the only one.
function workedTable({ texts }, section) {
    const made = new DOMParser().parseFromString(texts.arithmetic, 'text/html');
    const numberOf = (title) => parseInt(title.textContent, 10);
    const titles = [...made.querySelectorAll('h2')];
    const next = titles.find((title) => section && numberOf(title) > section);
    const { DOCUMENT_POSITION_FOLLOWING: follows } = Node;
    const before = (table) => !next || table.compareDocumentPosition(next) & follows;
    return [...made.querySelectorAll('table')].filter(before).at(-1);
}

// How the largest weight grows with the length of vectors, without and with ÷ √d.
function widthsPicture(step) {
    const rows = [...workedTable(step).tBodies[0].rows].map(({ cells }) =>
        [0, 3, 4].map((at) => Number(cells[at].textContent)));
    const axis = { ...axisOf([1]), low: 0 };
    const head = ['without ÷ √d', 'with ÷ √d'].map((words) => headerCell(say(words), 'col'));
    return [element('table', [
        element('caption', say('The largest of 64 weights, on average')),
        element('thead', element('tr', [element('td'), ...head])),
        element('tbody', rows.map(([d, plain, scaled]) => element('tr', [
            headerCell(`d = ${d}`, 'row'), barCell([0, plain], axis, places(plain), true),
            barCell([0, scaled], axis, places(scaled))]))),
    ], 'bars-table spread')];
}

// --- matrices ------------------------------------------------------------------------------------

// A table of weights; `hidden`: which cells are masked; `sums`: of the rows; null: not shown.
function weightTable(title, words, rows, hidden, sums, keys = words) {
    const most = Math.max(1, ...rows.flat());
    const short = (value) => places(value).replace(/^0\./, '.');
    const cell = (value, isHidden) => {
        const td = element('td', isHidden ? '0' : short(value), isHidden ? 'hatched' : 'toned');
        td.style.setProperty('--tone', `${(62 * Math.max(value, 0)) / most}%`);
        return td;
    };
    const named = keys.map((word) => element('bdi', word));
    const heads = [...named, ...(sums ? [say('sum')] : [])].map((word) => headerCell(word, 'col'));
    const body = rows.map((values, row) => element('tr', [
        headerCell(element('bdi', words[row]), 'row'),
        ...values.map((value, column) => cell(value, hidden(row, column))),
        sums && element('td', short(sums[row]), 'total')]));
    return element('table', [element('caption', title),
        element('thead', element('tr', [element('td'), ...heads])), element('tbody', body)],
    'cells-table');
}

const isLater = (row, column) => column > row;

const labelsOf = (tensor, axis) =>
    Array.from({ length: tensor[`${axis}Count`] }, (_, at) => tensor.label(axis, at));

const namedTensor = ({ sentence }, name) => sentence.of(name)[0];

// All weights of a head: each row sums to 1.
function weightsPicture(step) {
    const tensor = step.sentence.tensors.find((one) => one.isAttention);
    const rows = Array.from({ length: tensor.rowCount }, (_, row) => [...tensor.row(0, row)]);
    const [words, keys] = [labelsOf(tensor, 'row'), labelsOf(tensor, 'column')];
    return [weightTable(say('weights of all words'), words, rows, () => false, null, keys)];
}

// What a state holds under the words of the text: rows are keys, columns values.
function statePicture(step) {
    const mark = step.marks.find(({ tensor }) => tensor.tensor === 'mix_state');
    const all = step.lesson.channels.split(' ');
    const said = [...new Set(step.sentence.labels.sentence.map(shown))];
    const rows = said.map((key) => said.map((value) =>
        mark.tensor.at(mark.index, all.indexOf(key), all.indexOf(value))));
    const title = say('The state after the last word: a row is a key, a column what it holds');
    return [weightTable(title, said, rows, () => false)];
}

// The weights with the causal mask, and without it at a click.
function maskPicture(step) {
    const tensor = namedTensor(step, 'weights');
    const words = labelsOf(tensor, 'row');
    const rows = words.map((_, row) => [...tensor.row(0, row)].map((value) => value || 0));
    const without = words.map((_, row) => {
        const { keys } = queryOf({ ...step, marks: [{ tensor, index: 0, row }] });
        const scores = keys.map(({ raw }) => raw * tensor.sentence.attention.scales.weights[0]);
        const most = Math.max(...scores);
        const powers = scores.map((score) => Math.exp(score - most));
        const sum = powers.reduce((all, power) => all + power, 0);
        return powers.map((power) => power / sum);
    });
    const box = element('div');
    const toggle = buttonFor(() => show(toggle.getAttribute('aria-checked') !== 'true'),
        [element('i'), say('causal mask')], 'switch', { role: 'switch' });
    const show = (isOn) => {
        toggle.setAttribute('aria-checked', isOn);
        box.replaceChildren(weightTable(say('weights'), words, isOn ? rows : without,
            (row, column) => isOn && isLater(row, column)));
        const point = document.querySelector('.point');
        if (point) point.textContent = isOn ? say(step.lesson.point)
            : say('Without the mask, each word looks at all words, later words among them.');
    };
    show(true);
    return [toggle, box];
}

// Weights masked after the softmax, whose rows no longer sum to 1, and divided by these sums.
function dividedPicture(step) {
    const [before, after] = ['masked', 'weights'].map((name) => namedTensor(step, name));
    const words = labelsOf(after, 'row');
    const table = (tensor, title) => {
        const rows = words.map((_, row) => [...tensor.row(0, row)].map((value) =>
            (Number.isFinite(value) ? value : 0)));
        const sums = rows.map((row) => row.reduce((all, value) => all + value, 0));
        return weightTable(title, words, rows, isLater, sums);
    };
    return [element('div', [table(before, say('weights, masked, before the division')),
        element('b', say('÷ sum →')), table(after, say('weights'))], 'pair')];
}

// The four heads as small maps, below the arcs of the marked cells.
function headsPicture(step) {
    const { tensor } = step.marks[0];
    const maps = Array.from({ length: tensor.shape[0] }, (_, index) => {
        const levels = Uint8Array.from(tensor.matrix(index), (value) =>
            tonesOf(tensor, index)(0).level(value));
        const { ramp } = tonesOf(tensor, index)(0);
        const cells = { rows: tensor.rowCount, columns: tensor.columnCount, levels, ramp };
        const mark = step.marks.find((one) => one.index === index);
        const answer = element('i', '', mark ? 'answer' : '');
        const share = (at, of) => `${(100 * at) / of}%`;
        if (mark)
            Object.assign(answer.style, {
                left: share(mark.column, tensor.columnCount), width: share(1, tensor.columnCount),
                top: share(mark.row, tensor.rowCount), height: share(1, tensor.rowCount) });
        const first = element('i', '', 'rest');
        first.style.width = share(1, tensor.columnCount);
        return element('div', [
            element('p', [element('b', tensor.shownHead(index)), ' ', labelsOfArcs(step)[index]]),
            element('div', [canvasOfCells(cells, element('canvas')), first, answer], 'map')]);
    });
    return [...arcsPicture(step), element('div', maps, 'small-maps'),
        caption(say('The left column is #, where a word looks that has no answer.',
            quoted(tensor.label('column', 0))))];
}

// The numbers of a tensor as a grid that can be counted.
function gridOfCells(tensor, index, name) {
    const most = Math.max(...tensor.matrix(index).map(Math.abs));
    const cells = labelsOf(tensor, 'row').flatMap((word, row) => [element('bdi', word),
        ...[...tensor.row(index, row)].map((value) => {
            const one = element('i', '', value < 0 ? 'toned negative' : 'toned',
                { title: places(value) });
            one.style.setProperty('--tone', `${15 + (70 * Math.abs(value)) / most}%`);
            return one;
        })]);
    const grid = element('span', cells, 'grid-cells');
    grid.style.gridTemplateColumns = `auto repeat(${tensor.columnCount}, 34px)`;
    const words = `${name}: ${tensor.rowCount} × ${tensor.columnCount}`;
    return element('span', [grid, words], 'counted');
}

// Heads above the keys and values that they share.
function sharedPicture(step) {
    const [k, v] = ['k', 'v'].map((name) => namedTensor(step, name));
    const heads = step.marks.filter(({ tensor }) => tensor.isAttention);
    const shares = heads.length / k.shape[0];
    const sets = Array.from({ length: k.shape[0] }, (_, set) => element('div', [
        element('div', heads.slice(set * shares, (set + 1) * shares).map((mark) => {
            const { tensor, index, row, column } = mark;
            return element('p', [element('b', tensor.shownHead(index)), ' ',
                `${quoted(tensor.label('row', row))} → ${quoted(tensor.label('column', column))} `,
                places(tensor.at(index, row, column))]);
        }), 'queries'),
        element('div', [element('b', k.shownHead(set)), ...[[k, 'keys'], [v, 'values']].map(
            ([tensor, name]) => gridOfCells(tensor, set, say(name)))], 'kept'),
    ], 'set'));
    return [element('div', sets, 'sets')];
}

// A vector, and the query, key and value that three matrices make of it.
function projectionsPicture(step) {
    const { row } = step.marks[0];
    const cells = (name) => [...namedTensor(step, name).row(0, row)].map((value) => {
        const td = element('span', places(value), 'toned');
        td.style.setProperty('--tone', `${30 * Math.abs(value)}%`);
        return td;
    });
    const made = { q: 'query: what the word looks for', k: 'key: what it is found by',
        v: 'value: what it passes on' };
    const matrixOf = (name) => {
        const worked = new DOMParser().parseFromString(step.texts.arithmetic, 'text/html');
        const group = [...worked.querySelectorAll('.group')].find(({ textContent }) =>
            textContent.startsWith(`W${name}`));
        const rows = [...group.closest('table').tBodies[0].rows].map(({ cells }) =>
            [...cells].slice(-namedTensor(step, name).columnCount));
        const numbers = rows.flat().map(({ textContent }) => Number(textContent));
        const grid = element('span', numbers.map((value) => {
            const kind = value < 0 ? 'toned negative' : 'toned';
            const one = element('i', '', kind, { title: places(value) });
            one.style.setProperty('--tone', `${12 + 60 * Math.min(1, Math.abs(value))}%`);
            return one;
        }), 'grid-cells');
        grid.style.gridTemplateColumns = `repeat(${rows[0].length}, 18px)`;
        return grid;
    };
    const word = namedTensor(step, 'q').label('row', row);
    return [element('div', [
        element('div', [element('b', 'x'), say('embedding of #', quoted(word)),
            element('span', cells('embedding'), 'vector')], 'from'),
        element('div', Object.entries(made).map(([name, words]) => element('p', [
            element('span', ['× ', matrixOf(name), ` W_${name} =`], 'by'),
            element('span', cells(name), 'vector'),
            element('b', name), say(words)])), 'made'),
    ], 'projections')];
}

// --- drawings ------------------------------------------------------------------------------------

const caption = (words) => element('p', words, 'caption');

const drawing = (width, height, label) => shape('svg', { class: 'drawing', role: 'img',
    'aria-label': label, viewBox: `0 0 ${width} ${height}`, width, height });

// A query and its keys as arrows. The query points to the right; each key keeps its angle to the
// query and its length, so its shadow on the query is exact, whatever the number of channels.
function planePicture(step) {
    const { q, keys, query, scale } = queryOf(step);
    const [along, rest] = [unitOf(q), mainAxis(keys.map(({ k }) => apartFrom(k, unitOf(q))))];
    const points = keys.map(({ k, label, raw }) => {
        const aside = apartFrom(k, along);
        const side = dotOf(aside, rest) < 0 ? -1 : 1;
        return { label, raw, x: dotOf(k, along), y: side * Math.hypot(...aside) };
    });
    const length = Math.hypot(...q);
    const { width, size } = step;
    const pad = Math.min(8 * size, 0.2 * width);
    const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
    const lows = [Math.min(0, ...xs), Math.min(0, ...ys)];
    const highs = [Math.max(length, ...xs), Math.max(0, ...ys)];
    const room = Math.min(step.height, 0.5 * width) - 5 * size;
    const unit = Math.min((width - 2 * pad) / (highs[0] - lows[0]), room / (highs[1] - lows[1]));
    const flat = unit * (highs[1] - lows[1]);
    const isFlat = flat < 6 * size; // names stand above each other
    const around = !isFlat ? 2.5 * size : width > 480 ? 3.2 * size : 4.5 * size;
    const high = flat + 2 * around;
    const [left, top] = [(width - unit * (highs[0] - lows[0])) / 2, around];
    const place = ({ x, y }) => [left + unit * (x - lows[0]), top + unit * (highs[1] - y)];
    const label = say('The keys as arrows beside the query of #', quoted(query));
    const svg = drawing(width, high, label);
    const line = (from, to, kind) => svg.append(shape('path', { class: kind,
        d: `M${place(from).join(' ')}L${place(to).join(' ')}` }));
    const origin = { x: 0, y: 0 };
    line({ x: lows[0], y: 0 }, { x: highs[0], y: 0 }, 'axis');
    const row = step.marks[0].row;
    const isKey = (one) => one.row === row && one.tensor.labels('column');
    const marked = step.marks.filter(isKey).map(({ column }) => column);
    const highest = points.reduce((best, { raw }, at) => (raw > points[best].raw ? at : best), 0);
    const told = new Set(step.isChosen ? [highest] : marked);
    const kindOf = (at) => (told.has(at) ? 'named' : '');
    const obstacles = [];
    points.forEach((one, at) => {
        const foot = { x: one.x, y: 0 };
        line(one, foot, `drop ${kindOf(at)}`);
        line(origin, one, `key ${kindOf(at)}`);
        const [x, y] = place(one);
        svg.append(shape('circle', { cx: x, cy: y, r: 4, class: kindOf(at) }));
        for (let part = 0; part <= 16; part++)
            obstacles.push(place({ x: (one.x * part) / 16, y: (one.y * part) / 16 }),
                place({ x: one.x, y: (one.y * part) / 16 }));
    });
    line(origin, { x: length, y: 0 }, 'query');
    const [startX, startY] = place(origin);
    [...told].forEach((at, number) => {
        const [end] = place({ x: points[at].x, y: 0 });
        const y = startY + 12 + 9 * number;
        svg.append(shape('path', { class: 'shadow', d: `M${startX} ${y}H${end}` }));
        svg.append(shape('path', { class: 'edge', d: `M${end} ${y - 5}v10` }));
        obstacles.push(...[0.2, 0.4, 0.6, 0.8, 1].map((part) =>
            [startX + part * (end - startX), y]));
    });
    const [tipX, tipY] = place({ x: length, y: 0 });
    svg.append(shape('path', { class: 'tip', d: `M${tipX} ${tipY}l-10 -5v10z` }));
    const isNarrow = width < 480; // a phone has room for the names of the marked keys alone
    const names = points.map((one, at) => ({ at: place(one), kind: kindOf(at),
        words: `${one.label} ${places(one.raw)}` })).filter(({ kind }) => kind || !isNarrow);
    names.push({ at: [tipX, tipY], words: say('query of #', quoted(query)), kind: 'query' });
    const placed = [];
    for (const one of names.sort((a, b) => (b.kind > a.kind ? 1 : -1)))
        placeName(svg, placed, obstacles, one, { width, height: high, size });
    const dividing = scale === 1 ? '' : say('Then it is divided by √#.', q.length);
    return [svg, caption([say('Thick: shadows. After each word its score: shadow times length of ' +
        'the query.'), ' ', dividing])];
}

function apartFrom(vector, axis) {
    const along = dotOf(vector, axis);
    return Float64Array.from(vector, (value, i) => value - along * axis[i]);
}

// A name at a point, at the nearest place where it covers no other name and, if there is such a
// place, no line.
function placeName(svg, placed, obstacles, { at: [x, y], words, kind }, { width, height, size }) {
    const wide = textWidth(words, size);
    const turns = [[8, -6], [8, size + 4], [-8 - wide, -6], [-8 - wide, size + 4],
        [-wide / 2, -size], [-wide / 2, 1.8 * size]];
    const tries = [...Array(9).keys()].flatMap((far) => turns.map(([right, down]) =>
        ({ left: x + right, y: y + down + Math.sign(down) * far * size, wide })));
    const isFree = (one) => one.left >= 0 && one.left + wide <= width && one.y >= size
        && one.y <= height - 2 && placed.every((other) => Math.abs(other.y - one.y) >= 1.15 * size
            || one.left >= other.left + other.wide + 6 || other.left >= one.left + wide + 6);
    const isClear = (one) => obstacles.every(([left, down]) => left < one.left - 3
        || left > one.left + wide + 3 || down < one.y - size || down > one.y + 0.3 * size);
    const place = tries.find((one) => isFree(one) && isClear(one)) || tries.find(isFree)
        || tries[0];
    placed.push(place);
    const [nearX, nearY] = [clamp(x, place.left, place.left + wide), place.y - 0.4 * size];
    if (Math.hypot(nearX - x, nearY - y) > 1.8 * size)
        svg.append(shape('path', { class: 'leader', d: `M${x} ${y}L${nearX} ${nearY}` }));
    svg.append(shape('text', { x: place.left, y: place.y, 'font-size': size, class: kind }, words));
}

const labelsOfArcs = ({ texts }) => (texts.labels || '').split(' | ').filter(Boolean);

// The words of a text in lines of a width: the place of each.
function linesOfWords(words, width, size) {
    const gap = 0.55 * size;
    let [x, line] = [0, 0];
    const places = words.map((word) => {
        const wide = textWidth(word, size);
        if (x && x + wide > width) [x, line] = [0, line + 1];
        const left = x;
        x += wide + gap;
        return { word, left, wide, line, x: left + wide / 2 };
    });
    return { places, lines: line + 1, right: Math.max(...places.map((p) => p.left + p.wide)) };
}

// As large as one line allows, but not smaller than the other letters; on a slide, than 18 pixels.
function sizeOfWords(words, { width, size }) {
    const needed = words.reduce((sum, word) => sum + textWidth(word, 20) + 11, 0) / 20;
    return clamp(Math.floor(width / needed), isProjecting() ? 18 : size, 2 * size);
}

// The names of arcs, short arcs first, each at the nearest place where it covers no other name and
// no arc, or only no name. Returns the upper edge of them all, or 0.
function placeNames(svg, names, curves, { size, width }) {
    const placed = [];
    const moves = [0, -1, 1, -2, 2, -3, 3, -4, 4].flatMap((across) =>
        [0, -0.6, -1.2, -2.4, -3.6].map((up) => [across * size, up * size]));
    moves.sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
    for (const one of names.sort((a, b) => b.y - a.y)) {
        const high = 1.2 * size * one.lines.length;
        const isFree = ({ x, y }) => placed.every((other) =>
            Math.abs(x - other.x) >= one.half + other.half + 6
                || y <= other.y - other.high || y - high >= other.y);
        const isClear = ({ x, y }) => curves.every(([left, down]) =>
            Math.abs(left - x) > one.half + 7 || down < y - high || down > y + 5);
        const tries = moves.map(([across, up]) => ({ y: one.y + up,
            x: clamp(one.x + across, one.half, width - one.half) }));
        const place = tries.find((at) => isFree(at) && isClear(at)) || tries.find(isFree) || one;
        placed.push({ ...one, ...place, high });
        const kind = `arc-words ${one.kind || ''}`;
        one.lines.forEach((line, at) => svg.append(shape('text', { x: place.x, class: kind,
            y: place.y - (one.lines.length - 1 - at) * 1.2 * size, 'font-size': size }, line)));
    }
    return Math.min(0, ...placed.map(({ y, high }) => y - high));
}

// A text with arcs between its words: [{row, column, share, words, kind}]; `words` is a list of
// lines.
function drawArcsOf(step, words, arrows, label) {
    const size = sizeOfWords(words, step);
    const { places: spots, lines } = linesOfWords(words, step.width, size);
    const isOneLine = (one) => spots[one.row].line === spots[one.column].line;
    const spans = arrows.filter(isOneLine).map(({ row, column }) => Math.abs(row - column));
    const longest = Math.max(1, ...spans);
    const room = (spans.length ? Math.min(7 * step.size, 0.16 * step.width) : 0) + 3.4 * step.size;
    const below = lines > 1 ? 4 * size : 0;
    const top = room + size;
    const height = top + (lines - 1) * below + 0.6 * size;
    const svg = drawing(step.width, height, label);
    const baseline = ({ line }) => top + line * below;
    const names = [];
    const curves = [];
    for (const one of arrows) {
        const [from, to] = [spots[one.row], spots[one.column]];
        const [a, b] = [baseline(from) - size, baseline(to) - size];
        const isAbove = isOneLine(one);
        const apart = Math.abs(one.row - one.column);
        const high = from.line ? 1.2 * size : ((room - 3.4 * step.size) * apart) / longest;
        const [start, end] = isAbove ? [a, b]
            : from.line > to.line ? [a, b + 1.25 * size] : [a + 1.25 * size, b];
        const [pull, push] = isAbove ? [a - 1.33 * high, a - 1.33 * high]
            : [(start + end) / 2, (start + end) / 2];
        const width = 1.5 + 5 * one.share;
        const back = isAbove || end > start ? -1 : 1; // from the tip to the shaft
        svg.append(shape('path', { class: `arc ${one.kind || ''}`, 'stroke-width': width,
            d: `M${from.x} ${start}C${from.x} ${pull} ${to.x} ${push} ${to.x} `
                + `${end + 9 * back}` }));
        svg.append(shape('path', { class: `head ${one.kind || ''}`,
            d: `M${to.x} ${end + 2}l-6 ${11 * back}h12z` }));
        for (let part = 0; part <= 60; part++) {
            const [t, s] = [part / 60, 1 - part / 60];
            const bend = (a0, a1, a2, a3) =>
                s ** 3 * a0 + 3 * s * s * t * a1 + 3 * s * t * t * a2 + t ** 3 * a3;
            curves.push([bend(from.x, from.x, to.x, to.x), bend(start, pull, push, end)]);
        }
        const lines = isAbove ? one.words : [one.words.join(' ')];
        const half = Math.max(...lines.map((line) => textWidth(line, step.size))) / 2;
        const middle = (from.x + to.x) / 2 + (isAbove ? 0 : half + 8); // beside an arc across lines
        const x = clamp(middle, half, step.width - half);
        const y = isAbove ? a - high - 8 : pull + 0.3 * step.size;
        names.push({ lines, x, y, half, kind: one.kind });
    }
    const upper = placeNames(svg, names, curves, step);
    svg.setAttribute('viewBox', `0 ${upper} ${step.width} ${height - upper}`);
    svg.setAttribute('height', height - upper);
    const isEnd = (at) => arrows.some(({ row, column }) => row === at || column === at);
    spots.forEach((spot, at) => svg.append(shape('text', { x: spot.x, y: baseline(spot),
        'font-size': size, class: isEnd(at) ? 'word end' : 'word' }, spot.word)));
    return svg;
}

// Arcs of the marked cells, with the labels of the step or the names of the heads.
function arcsPicture(step) {
    const { tensor: first } = step.marks.find(({ tensor }) => tensor.labels('row'));
    const labels = labelsOfArcs(step);
    const arrows = step.marks
        .map((mark, at) => ({ ...mark, label: labels[at] }))
        .filter(({ tensor, index }) => tensor.tensor === first.tensor && tensor.labels('row')
            && (!tensor.isMixer || index === 0))
        .map(({ tensor, index, row, column, label }) => {
            const value = tensor.at(index, row, column);
            const name = tensor.shownHead(index);
            const lines = label ? [name, label] : [`${name} ${places(value)}`];
            return { row, column, words: lines, share: shareOfCell(tensor, index, value) };
        })
        .filter(({ share }) => share > 0.01);
    return [drawArcsOf(step, labelsOf(first, 'row'), arrows, say('Arcs: where heads look'))];
}

// All arcs from one word, before it and after it.
function bothPicture(step) {
    const { tensor, index, row } = step.marks[0];
    const words = labelsOf(tensor, 'row');
    const arrows = [...tensor.row(index, row)]
        .map((share, column) => ({ row, column, share, words: [places(share)] }))
        .filter(({ share }) => share > 0.1);
    const read = words.slice(1, row).map((word) => quoted(word)).join(' '); // after [CLS]
    return [drawArcsOf(step, words, arrows, say('Arcs: where heads look')),
        caption(say('A GPT would have to guess the word from # alone.', read))];
}

// The arcs of the marked cells, and what is left of the first one without the other head.
function cutPicture(step, section, key) {
    const [main, helper] = step.marks;
    const words = labelsOf(main.tensor, 'row');
    const arrow = ({ tensor, index, row, column }, share = tensor.at(index, row, column)) =>
        ({ row, column, share, words: [`${tensor.shownHead(index)} ${percent(share)}`] });
    const cells = workedTable(step, section).tBodies[0].rows[key].cells;
    const left = Number([...cells].filter((one) => /^[\d.]+$/.test(one.textContent)).at(-1)
        .textContent);
    const name = helper.tensor.shownHead(helper.index);
    return [drawArcsOf(step, words, [arrow(main), arrow(helper)], say('Arcs: where heads look')),
        element('h3', say('without #', name)),
        drawArcsOf(step, words, [{ ...arrow(main, left), kind: 'weak' }],
            say('Arcs: where heads look'))];
}

// The source above, the text below, and a line from each word that is written to the words that it
// is made of.
function acrossPicture(step) {
    const { tensor } = step.marks[0];
    const { labels } = step.sentence;
    const [above, below] = [labels.source, labels.sentence.slice(1)].map((list) => list.map(shown));
    const size = Math.min(...[above, below].map((words) => sizeOfWords(words, step)));
    const [upper, lower] = [above, below].map((words) => linesOfWords(words, step.width, size));
    const gap = 8 * step.size;
    const svg = drawing(step.width, gap + 3 * size, say('Lines: where each word looks'));
    const shift = ({ right }) => (step.width - right) / 2;
    below.forEach((_, row) => [...tensor.row(0, row)].forEach((share, column) => {
        const from = lower.places[row].x + shift(lower);
        const to = upper.places[column].x + shift(upper);
        const [a, b] = [gap + 1.2 * size, 1.5 * size];
        if (share >= 0.05)
            svg.append(shape('path', { class: 'arc', 'stroke-width': 1 + 5 * share,
                d: `M${from} ${a}C${from} ${(a + b) / 2} ${to} ${(a + b) / 2} ${to} ${b}` }));
    }));
    for (const [line, y] of [[upper, 1.1 * size], [lower, gap + 2.2 * size]])
        for (const { word, x } of line.places)
            svg.append(shape('text', { x: x + shift(line), y, 'font-size': size, class: 'word' },
                word));
    return [svg];
}

const PICTURES = {
    adds: addsPicture,
    arcs: arcsPicture,
    across: acrossPicture,
    both: bothPicture,
    cut: cutPicture,
    divided: dividedPicture,
    heads: headsPicture,
    mask: maskPicture,
    plane: planePicture,
    projections: projectionsPicture,
    shared: sharedPicture,
    softmax: softmaxPicture,
    state: statePicture,
    weighed: weighedPicture,
    weights: weightsPicture,
    widths: widthsPicture,
};
