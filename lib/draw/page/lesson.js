// A step of the tour: its point and a picture of it; text, tensors with the cells that it
// discusses; a question, always in sight.

const LESSON_PLACES = 4; // decimals, as in the texts
const PICTURE_LETTERS = [15, 20]; // pixels, by the width of the picture
const opened = {}; // the parts of a step that the reader has opened, by name
// Letters for a projector, in shares of the height: the least, and those of a short text.
const [LETTERS_LEAST, LETTERS_MOST] = [1 / 36, 1 / 24];

// "scores:1:2 weights:0.3:1:0": tensor, layer and head unless these are the first, row, column.
function marksOf(sentence) {
    return sentence.lesson.marks
        .split(' ')
        .filter(Boolean)
        .map((mark) => {
            const parts = mark.split(':');
            const place = parts.length > 3 ? parts[1] : '';
            const [layer, head] = place.split('.');
            const tensors = sentence.of(parts[0]);
            const tensor = place ? tensors.find((one) => String(one.layer) === layer) : tensors[0];
            const index = place ? tensor.heads.indexOf(Number(head)) : 0;
            const [row, column] = parts.slice(-2).map(Number);
            return { tensor, index, row, column };
        });
}

class LessonView {
    constructor(parent, sentence) {
        this.sentence = sentence;
        this.lesson = sentence.lesson;
        this.texts = (isChinese() && this.lesson.chinese) || this.lesson;
        this.marks = marksOf(sentence);
        const [claims, first, told, shows, asks] = ['claims', 'first', 'told', 'shows', 'asks']
            .map((part) => element('div', '', part));
        drawDots();
        const parts = isProjecting() ? [told, shows] : [claims, first, told, shows, asks];
        const page = element('div', parts, this.lesson.walk ? 'lesson walks' : 'lesson');
        parent.append(page);
        claims.append(element('h2', this.lesson.title), element('p', this.lesson.point, 'point'));
        this.drawHead(told, isProjecting() ? told : claims);
        this.drawTries(told);
        const end = isProjecting() ? told : asks;
        this.drawQuestion(end);
        if (!state.printing) this.drawSteps(end);
        if (isProjecting()) return void this.project(page, told, shows);
        this.drawPicture(first, state.printing ? PAPER : first.clientWidth);
        this.drawFigures(shows, state.printing ? PAPER : shows.clientWidth);
        if (motion.step && !motion.box.hidden) drawMotion(); // its place has its size now
    }

    // The first picture of the step, in letters of a size.
    drawPicture(parent, width, size = clamp(Math.round(width / 46), ...PICTURE_LETTERS)) {
        const facts = { width, size, height: window.innerHeight * 0.62 };
        const picture = pictureOf(Object.assign(Object.create(this), facts));
        if (picture) parent.append(picture);
    }

    // All figures, or on a slide those that `names` lists: see cmd/lesson/steps.txt.
    drawFigures(shows, room, names) {
        const isWhole = this.lesson.parts || this.lesson.line.startsWith('attn-cli explain');
        shows.replaceChildren();
        shows.style.setProperty('--letters', `${this.letters}px`);
        if (names) this.drawPicture(shows, room, this.letters);
        if (this.lesson.arithmetic) this.drawArithmetic(shows, isWhole);
        if (!isWhole && !this.lesson.walk) this.drawMatrices(shows, room);
        for (const one of names ? shows.querySelectorAll('[data-figure]') : [])
            one.hidden = !names.some((name) => isFigure(one.dataset.figure, name));
        if (names || this.lesson.walk) this.drawMotion(shows, names || 'motion:predict');
        else if (!state.printing) this.fold(shows);
    }

    // The tables and Motion, each behind a line that opens it.
    fold(shows) {
        const tables = element('div', [...shows.children]);
        const moves = element('div');
        shows.append(foldOf('tables', say('All numbers of this step'), tables));
        if (!this.lesson.scene) return;
        shows.append(foldOf('moves', say('Watch it being computed'), moves, (isOpen) => {
            if (isOpen) this.drawMotion(moves, 'motion');
            else keepMotion();
        }));
    }

    // Motion, if the figures name it: above them, with the scene that they name.
    drawMotion(shows, figures) {
        const [opened, scene] = /motion(?::(\w+))?/.exec(figures) || [];
        if (!opened) return;
        showStep(shows, this.sentence, this.marks, scene, this.said);
        const { caption: words } = this.texts;
        if (words) shows.prepend(element('p', words, 'captions', { translate: 'no' }));
        if (state.printing) leaveStill();
    }

    // On a projector a step is a row of slides, each with one text and its figures, in the largest
    // letters that fit: the step's text, where to look, the question, and its answer.
    project(page, told, shows) {
        page.prepend(told.querySelector('.sentence'));
        const question = told.querySelector('.question');
        const texts = [...told.querySelectorAll('.claim, .look'), question, question];
        this.slides = texts.length;
        state.slide = clamp(state.slide, 0, texts.length - 1);
        const text = texts[state.slide];
        for (const one of told.children)
            one.hidden = one !== text && !one.matches(state.slide ? 'nav' : 'nav, .note');
        question.open = state.slide === texts.length - 1;
        const place = element('span', `${state.slide + 1} / ${texts.length}`, 'quiet');
        told.querySelector('nav').children[0].after(place);
        this.asks = state.slide === texts.length - 2;
        const figures = this.lesson.figures.split(' ');
        this.figures = (figures[state.slide] || figures.at(-1)).split('+').map(readFigure);
        const names = this.figures.map(({ name }) => name);
        this.said = numbersOf(text.innerText); // without an answer that is not open
        const inLargest = (draw, isGood) => {
            let letters = inLetters(LETTERS_MOST) + 2;
            do draw((letters = Math.max(letters - 2, lettersLeast())));
            while (!isGood() && letters > lettersLeast());
        };
        inLargest((letters) => {
            this.letters = letters;
            this.drawFigures(shows, shows.clientWidth, names);
        }, () => fits(shows));
        inLargest((letters) => told.style.setProperty('--letters', `${letters}px`),
            () => told.scrollHeight <= told.clientHeight); // the figures leave it its width
    }

    // The marks of a matrix; on a slide the marks of its figures, else the cells with the numbers
    // in its text: the marked ones, else one or two.
    marksOn(tensor, index) {
        const marks = this.marks.filter((one) => one.tensor === tensor && one.index === index);
        if (!this.said) return marks;
        const named = this.figures.find(({ name, cells }) =>
            cells && isFigure(figureOf(tensor, index), name));
        if (named) return cellsAt(named.cells, tensor.rowCount, tensor.columnCount);
        const cells = [...tensor.matrix(index)].flatMap((value, at) => {
            const [row, column] = [Math.floor(at / tensor.columnCount), at % tensor.columnCount];
            const number = Math.abs(value).toFixed(LESSON_PLACES);
            const isMarked = marks.some((one) => one.row === row && one.column === column);
            return this.said.has(number) ? { row, column, number, isMarked } : [];
        });
        return cells.filter(({ number, isMarked }) => {
            const same = cells.filter((one) => one.number === number);
            return isMarked || (same.length < 3 && !same.some((one) => one.isMarked));
        });
    }

    drawHead(page, claims) {
        const { lesson } = this;
        claims.append(element('div', lesson.scale ? '' : quoted(this.sentence.title),
            'sentence quiet'));
        page.append(element('p', lesson.before, 'claim'));
        if (this.sentence.untrained && !lesson.scale)
            page.append(element('div', say(`${NOT_TRAINED}.`), 'note caption'));
        for (const [at, look] of lesson.look.split('\n\n').entries()) {
            const before = element('b', at && !isProjecting() ? '' : say('Look: '));
            page.append(element('p', [before, look], 'look'));
        }
    }

    // What to try: the command, others, and the marked cells.
    drawTries(page) {
        const { also, line, walk } = this.lesson;
        const parts = element('div');
        if (line) parts.append(commandLine(line));
        if (also) parts.append(element('p', withCommands(say(also)), 'also'));
        if (!walk) this.drawCells(parts);
        if (isProjecting() || state.printing) page.append(...parts.children);
        else if (parts.firstChild) page.append(foldOf('tries', say('Try it'), parts));
    }

    // The marked cells with their exact numbers; each opens in the workbench.
    drawCells(page) {
        const list = element('ul', '', 'marked');
        for (const { tensor, index, row, column } of this.marks) {
            const kept = { row, column };
            const shown = withChannels(tensor, this.lesson.channels);
            const { names, value } = cellWords(shown, index, kept);
            const layer = this.sentence.of(tensor.tensor).indexOf(tensor);
            const cell = { lesson: false, kind: tensor.tensor, layer, head: index, kept };
            const words = `${this.nameOf(tensor, index)} · ${names} `;
            const title = say('#: open it in the workbench', value);
            const button = buttonFor(() => set(cell), words, '', { title });
            button.append(element('b', placesOf(value)));
            list.append(element('li', [button]));
        }
        page.append(list);
    }

    // "weights L1H2", without the head of a model that has one.
    nameOf(tensor, index) {
        const { layers, heads } = this.sentence.attention;
        if (tensor.tensor === 'masked' && this.sentence.attention.renormalise)
            return 'weights, masked, before the division';
        if (tensor.tensor === 'masked') return 'scores after the mask';
        return layers * heads > 1 ? tensor.name(index) : tensor.tensor;
    }

    // In the order of the slides.
    drawMatrices(page, room) {
        const grid = element('div', '', 'compare');
        page.append(grid);
        const { tensors } = this.sentence;
        const placeOf = ({ tensor }) => this.lesson.figures.indexOf(tensor);
        for (const tensor of [...tensors].sort((a, b) => placeOf(a) - placeOf(b))) {
            const marked = this.marks.filter((one) => one.tensor === tensor);
            for (let index = 0; index < tensor.shape[0]; index++) {
                if (marked.length && !marked.some((one) => one.index === index)) continue;
                const name = this.nameOf(tensor, index);
                const shown = withChannels(tensor, this.lesson.channels);
                const words = say('rows: #, columns: #', say(shown.rows), say(shown.columns));
                const part = element('section',
                    [element('h3', name), element('p', words, 'caption axes')], 'side',
                    { 'aria-label': name, 'data-figure': figureOf(tensor, index) });
                grid.append(part);
                lessonMatrix(part, shown, index, room, this.marksOn(tensor, index), this.letters);
            }
        }
    }

    // Steps of `explain`, or its weight matrices and the sections that figures name. Numbers of the
    // text are marked.
    drawArithmetic(page, isWhole) {
        const box = element('div', '', isWhole ? 'arithmetic' : 'arithmetic compare',
            { translate: 'no' }); // explain wrote it in both languages
        const { arithmetic } = this.texts;
        const made = new DOMParser().parseFromString(arithmetic, 'text/html');
        const said = this.said || numbersOf(this.lesson.look);
        for (const cell of made.querySelectorAll('td'))
            if (said.has(cell.textContent.replace('-', ''))) cell.className = 'said';
        const figures = this.lesson.figures.split(/[ +]/).map((one) => readFigure(one).name);
        let [section, isNamed] = [null, false];
        for (const one of made.querySelectorAll('.walk > :not(dl)')) {
            const group = one.querySelector('.group:not(:empty)');
            const title = one.matches('h2') && one.textContent.replace(/^\d+\. /, '');
            if (title) isNamed = figures.includes(String(parseInt(one.textContent, 10)));
            const isPart = isWhole || isNamed;
            const [matrix] = /^W./.exec(group?.textContent) || [];
            if (!isPart && !matrix) continue;
            if (!isPart || title) box.append((section = element('section')));
            if (one.matches('.scroll')) one.tabIndex = 0;
            if (title) section.dataset.figure = parseInt(one.textContent, 10) || 1;
            else if (matrix) one.dataset.figure = matrix;
            if (this.said && one.textContent.includes('tanh')) continue; // long, for a slide
            const results = one.matches('.worked') && one.textContent.split('=').at(-1);
            const [sum] = (results && /= .*/.exec(one.textContent)) || [];
            if (sum && one.textContent.startsWith('context0 ')) // elsewhere 0 is a key
                one.textContent = `${say('first number of the context')} ${sum}`;
            if (this.said && results && !numbersIn(results).some((number) => said.has(number)))
                continue; // it is the score of another key
            section.append(title ? element('h3', title) : one);
        }
        for (const figure of this.figures || []) {
            const shown = box.querySelector(`[data-figure="${figure.name}"]`);
            if (shown) showFigure(shown, figure);
        }
        // On a slide the query's own row stands out only if the text is about it.
        for (const row of this.said ? box.querySelectorAll('.own') : []) {
            const saying = [...row.parentNode.rows].filter((one) => one.querySelector('.said'));
            if (this.asks || saying.length !== 1 || saying[0] !== row) row.className = '';
        }
        nameColumns(box);
        page.append(box);
    }

    drawQuestion(page) {
        const details = element('details', '', 'question');
        const asks = element('summary', this.lesson.question, '', { 'data-answer': say('Answer') });
        details.append(asks, element('p', this.lesson.answer));
        details.open = state.printing; // on paper it could not be opened
        page.append(details);
    }

    drawSteps(page) {
        const line = element('nav', '', 'steps', { 'aria-label': say('Steps') });
        for (const [by, id, keys] of [[-1, 'lesson-before', '←['], [1, 'lesson-after', '→]']]) {
            const to = sentences[state.sentence + by];
            if (!to && !isProjecting()) continue;
            const words = isProjecting() ? (by < 0 ? '← ' : ' →')
                : say(by < 0 ? '← Back' : 'Next →');
            const go = () => (isProjecting() ? stepSlide(by) : stepSentence(by));
            const title = say('# does the same', keys[isProjecting() ? 0 : 1]);
            line.append(buttonFor(go, words, '', { id, title }));
        }
        page.append(line);
    }
}

// The steps as a row of numbers in the top line; the last two have none.
function drawDots() {
    const last = sentences.length - 1;
    const names = sentences.map(({ lesson }, at) =>
        (lesson.scale ? '√d' : lesson.walk ? 'GPT' : String(parseInt(lesson.title, 10) || at + 1)));
    byId('dots').replaceChildren(...(last ? names : []).map((name, at) => {
        const marks = { title: say(sentences[at].lesson.title), translate: 'no' };
        if (at === state.sentence) marks['aria-current'] = 'step';
        return buttonFor(() => set({ sentence: at }), name, '', marks);
    }));
}

// The next slide of a projected step, or of the next step.
function stepSlide(by) {
    const slide = state.slide + by;
    if (slide >= 0 && slide < (views.lesson?.slides || 1)) return set({ slide });
    if (sentences[state.sentence + by])
        set({ sentence: state.sentence + by, slide: by < 0 ? Infinity : 0 });
}

const inLetters = (share) => Math.round(share * window.innerHeight);
const lettersLeast = () => Math.max(20, inLetters(LETTERS_LEAST));

// Does all that is shown fit, with its numbers?
function fits(shows) {
    const shown = [...shows.querySelectorAll(':is(section, .picture):not([hidden])')];
    const bottom = (one) => one.getBoundingClientRect().bottom;
    const isWhole = ({ view }) =>
        !view || (view.tensor.columnCount <= PLACES_COLUMNS ? view.hasPlaces : view.hasNumbers);
    return shown.every((one) => bottom(one) <= bottom(shows) && isWhole(one)) &&
        [...shows.querySelectorAll('.scroll, .picture')].every((one) =>
            one.scrollWidth <= one.clientWidth);
}

// A part behind a line that opens it. It stays open from step to step.
function foldOf(name, words, part, act = () => {}) {
    const one = element('details', [element('summary', words), part], name);
    one.addEventListener('toggle', () => {
        if (!one.isConnected) return;
        opened[name] = one.open;
        act(one.open);
    });
    one.open = Boolean(opened[name]);
    return one;
}

// The parts of a text, of which commands are code.
function withCommands(text) {
    const value = '(?:"[^"]*"|[^\\s"]+?(?=[。，；]|[.]?(?:\\s|$)))';
    const command = `attn-cli \\w+(?: scale)?(?: --?[\\w-]+(?: ${value})?| "[^"]*")*`;
    return text.split(new RegExp(`(${command})`, 'u')).map((part, at) =>
        (at % 2 ? element('code', part, 'inline') : part));
}

// "weights:1.0": a matrix as steps.txt names it; "weights" names all heads' matrices.
const figureOf = ({ heads, layer, tensor }, index) =>
    `${tensor}:${layer}.${heads?.[index] ?? index}`;

const isFigure = (figure, name) => `${figure}:`.startsWith(`${name}:`);

// "1/wte,h@2:": a figure of steps.txt, the rows that its table has, and the cells that it frames.
function readFigure(words) {
    const [, name, rows, cells] = /^([^/@]*)(?:\/([^@]*))?(?:@(.*))?/.exec(words);
    return { name, rows, cells };
}

// Cells at lists of rows and columns, such as "1,2:0"; an empty list stands for all.
function cellsAt(cells, rowCount, columnCount) {
    const [rows, columns] = cells.split(':').map((list, at) =>
        (list ? list.split(',').map(Number) : [...Array(at ? columnCount : rowCount).keys()]));
    return rows.flatMap((row) => columns.map((column) => ({ row, column })));
}

// Show a section of explain as a slide names it. With `rows`: only its last table, with only them.
function showFigure(section, { rows, cells }) {
    const table = [...section.querySelectorAll('table')].at(-1);
    if (rows !== undefined) table.closest('.scroll').removeAttribute('data-figure');
    for (const one of rows === undefined ? [] : section.querySelectorAll('p, .scroll'))
        if (!one.contains(table) && !one.matches('.worked, [data-figure]')) one.remove();
    for (const row of rows ? table.querySelectorAll(':is(tbody, tfoot) tr, tr:has(.group)') : [])
        if (!rows.split(',').includes(row.cells[0].textContent)) row.remove();
    if (rows && !table.tBodies[0].rows.length) table.tHead.remove();
    const body = cells ? [...table.tBodies[0].rows] : [];
    for (const at of cells ? cellsAt(cells, body.length, body[0].cells.length - 1) : [])
        body[at.row].cells[at.column + 1]?.classList.add('said'); // a gap has no cells
}

// The names that explain gives to columns, in the words of the lesson.
const COLUMN_NAMES = { dim: 'channel', 维: '通道', inf: '∞' };
const CHINESE_NAMES = { score: '分数', scaled: '缩放后', masked: '掩码后',
    weight: '权重', context: '上下文向量' };

function nameColumns(box) {
    const names = isChinese() ? { ...COLUMN_NAMES, ...CHINESE_NAMES } : COLUMN_NAMES;
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { currentNode: text } = texts;
        if (!text.parentNode.closest('th, .formula, .worked')) continue;
        text.data = text.data.replace(/[\p{L}_]+/gu, (word) => names[word] || word);
    }
}

// A state whose axes have the words of its keys and values.
function withChannels(tensor, words) {
    if (!words || tensor.rows !== 'key_dim') return tensor;
    const axes = { rows: 'key', columns: 'value', labels: () => words.split(' ') };
    return Object.assign(Object.create(tensor), axes);
}

// The numbers with decimals that a text says, without their signs.
const numbersIn = (text) => text.match(/\d+\.\d+/g) || [];
const numbersOf = (text) => new Set(numbersIn(text));

// A number with the decimals of the texts; other words as they are.
const placesOf = (value) =>
    Number.isNaN(Number(value)) ? value : minus(Number(value).toFixed(LESSON_PLACES));

// "“it” → “is”" and the exact number.
function cellWords(tensor, index, { row, column }) {
    const place = (axis, at) =>
        tensor.labels(axis) ? quoted(tensor.label(axis, at)) : `${say(tensor[`${axis}s`])} ${at}`;
    const value = tensor.at(index, row, column);
    return {
        names: `${place('row', row)} → ${place('column', column)}`,
        value: Number.isNaN(value) ? say('masked') : tensor.text(value),
    };
}

// A small matrix with the number of a cell below it.
function lessonMatrix(parent, tensor, index, room, marks = [], letters = 0) {
    const wordsOf = (cell) => {
        const { names, value } = cellWords(tensor, index, cell);
        return `${names}: ${letters ? placesOf(value) : value}`;
    };
    // On a slide, marked cells that are too narrow for all decimals are written below.
    const usual = letters && marks.length < 4 ? marks.map(wordsOf).join(', ') : '';
    const words = element('p', usual || '\u00a0', 'cell-words', { 'aria-live': 'polite' });
    const show = (cell) => {
        view.show(cell, cell, new Set(cell ? [cell.column] : []));
        words.textContent = (cell ? wordsOf(cell) : usual) || '\u00a0';
    };
    const wide = element('div', '', 'scroll');
    parent.append(wide);
    const narrow = tensor.columnCount > PLACES_COLUMNS && 0.9 * lettersLeast();
    const size = Math.min(letters, narrow || letters);
    const high = 0.87 * window.innerHeight - 4.5 * letters; // without the lines around it
    const large = letters && { most: 3 * letters, high, size, letters: size };
    const options = { marks, places: LESSON_PLACES, most: 34, ...large, point: show, keep: show };
    const view = new MatrixView(wide, tensor, index, room, options);
    if (!letters || !view.hasPlaces) parent.append(words);
    if (letters && tensor.isAttention && !view.hasPlaces) // empty is not hatched
        parent.append(element('p', say('empty: weight below #, not masked', NUMBER_LEAST),
            'cell-words'));
    parent.view = view;
}
