// A step of the tour: text, tensors with the cells it discusses, and a question.

const LESSON_PLACES = 4; // decimals, as in the texts
const ABRIDGED = 24; // tables with more columns show the first and the last rows and columns
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
        this.marks = marksOf(sentence);
        const page = element('div', '', this.lesson.walk ? 'lesson walks' : 'lesson');
        const told = element('div', '', 'told');
        const shows = element('div', '', 'shows');
        page.append(told, shows);
        parent.append(page);
        this.drawHead(told);
        if (!this.lesson.walk) this.drawCells(told);
        this.drawQuestion(told);
        if (!state.printing) this.drawSteps(told);
        const room = state.printing ? PAPER : shows.clientWidth;
        this.letters = isProjecting() ? lettersLeast() : 0;
        this.drawFigures(shows, room);
        if (isProjecting() && !this.lesson.walk) this.project(told, shows, room);
        if (motion.step && !motion.box.hidden) drawMotion(); // its place has its size now
    }

    drawFigures(shows, room) {
        const isExplained = this.lesson.line.startsWith('attn-cli explain');
        const isWhole = isExplained || this.lesson.parts;
        shows.replaceChildren();
        shows.style.setProperty('--letters', `${this.letters}px`);
        if (this.lesson.arithmetic) this.drawArithmetic(shows, isWhole);
        if (!isWhole && !this.lesson.walk) this.drawMatrices(shows, room);
        const moves = this.lesson.walk || this.lesson.scene;
        if (moves && !state.printing) showStep(shows, this.sentence, this.marks);
    }

    // On a projector a step is a row of slides, each with one text and the figures that fit
    // beside it: what the step does, where to look, the question, and its answer.
    project(told, shows, room) {
        const part = (...names) => [...told.children].filter((one) => one.matches(names.join()));
        const question = told.querySelector('.question');
        const figures = this.largestFigures(shows, room);
        const asked = new Set(question.textContent.match(/-?\d+\.\d+/g));
        const found = figures.map((page) => {
            const numbers = page.flatMap(numbersOfFigure);
            return new Set(numbers.filter((one) => asked.has(one))).size;
        });
        const most = Math.max(...found);
        const figure = figures[most ? found.lastIndexOf(most) : 0];
        const slides = [
            [part('.claim', '.command', '.note'), figures[0]],
            ...figures.map((page) => [part('.look'), page]),
            [[question], figure],
            [[question], figure],
        ];
        this.slides = slides.length;
        state.slide = clamp(state.slide, 0, slides.length - 1);
        const [texts, shown] = slides[state.slide];
        for (const one of told.children) one.hidden = !texts.includes(one) && !one.matches('nav');
        for (const one of figures.flat()) one.hidden = !shown.includes(one);
        question.open = state.slide === slides.length - 1;
        const place = element('span', `${state.slide + 1} / ${slides.length}`, 'quiet');
        told.querySelector('nav').children[0].after(place);
        let letters = inLetters(LETTERS_MOST);
        do told.style.setProperty('--letters', `${letters--}px`);
        while (told.scrollHeight > told.clientHeight && letters >= lettersLeast());
    }

    // The figures in the largest letters that need at most one slide more than small ones.
    largestFigures(shows, room) {
        const count = figurePages(shows).length;
        for (let letters = inLetters(LETTERS_MOST); ; letters -= 2) {
            this.letters = Math.max(letters, lettersLeast());
            this.drawFigures(shows, room);
            const pages = figurePages(shows);
            const isGood = pages.length <= count + 1 && pages.every((page) => fits(page, shows));
            if (isGood || letters <= lettersLeast()) return pages;
        }
    }

    drawHead(page) {
        const { lesson } = this;
        page.append(
            element('h2', lesson.title),
            element('div', lesson.scale ? '' : quoted(this.sentence.title), 'quiet'),
            element('p', lesson.before, 'claim'),
        );
        if (this.sentence.untrained && !lesson.scale)
            page.children[1].after(element('div', say(`${NOT_TRAINED}.`), 'note caption'));
        if (lesson.line) page.append(commandLine(lesson.line));
        page.append(element('p', '', 'look'));
        page.lastChild.append(element('b', say('Look: ')), lesson.look);
    }

    // The marked cells with their exact numbers; each opens in the workbench.
    drawCells(page) {
        const list = element('ul', '', 'marked');
        for (const { tensor, index, row, column } of this.marks) {
            const item = element('li');
            const { names, value } = cellWords(tensor, index, { row, column });
            const open = () => {
                const layer = this.sentence.of(tensor.tensor).indexOf(tensor);
                const kept = { row, column };
                set({ lesson: false, kind: tensor.tensor, layer, head: index, kept });
            };
            const words = `${tensor.name(index)} · ${names} `;
            const title = say('#: open it in the workbench', value);
            const button = buttonFor(open, words, '', { title });
            const number = Number(value);
            button.append(element('b', Number.isNaN(number) ? value : placesOf(number)));
            item.append(button);
            list.append(item);
        }
        page.append(list);
    }

    drawMatrices(page, room) {
        const grid = element('div', '', 'compare');
        const title = say('The embeddings as arrows');
        const drawing = element('section', '', 'side', { 'aria-label': title });
        drawing.append(element('h3', title));
        page.append(grid);
        this.sentence.tensors.forEach((tensor, at) => {
            const place = `${sentences.indexOf(this.sentence)}:${at}`;
            const arrows = document.querySelector(`template[data-at="${place}"]`);
            const marked = this.marks.filter((one) => one.tensor === tensor);
            for (let index = 0; index < tensor.shape[0]; index++) {
                if (marked.length && !marked.some((one) => one.index === index)) continue;
                const name = tensor.name(index);
                const part = element('section', '', 'side', { 'aria-label': name });
                const axes = [say(tensor.rows), say(tensor.columns)];
                const words = say('rows: #, columns: #', ...axes);
                part.append(element('h3', name), element('p', words, 'caption'));
                grid.append(part);
                const marks = marked.filter((one) => one.index === index);
                lessonMatrix(part, tensor, index, room, marks, this.letters);
                if (arrows) drawing.append(arrows.content.cloneNode(true));
            }
        });
        if (drawing.children.length > 1) grid.append(drawing);
    }

    // Steps of `explain`, or its weight matrices alone. Numbers of the text are marked.
    drawArithmetic(page, isWhole) {
        const box = element('div', '', isWhole ? 'arithmetic' : 'arithmetic compare');
        box.translate = false; // explain wrote it in both languages
        const { arithmetic } = isChinese() ? this.lesson.chinese : this.lesson;
        const made = new DOMParser().parseFromString(arithmetic, 'text/html');
        const said = new Set(this.lesson.look.match(/-?\d+\.\d+/g));
        for (const cell of made.querySelectorAll('td'))
            if (said.has(cell.textContent)) cell.className = 'said';
        for (const table of made.querySelectorAll('table')) abridge(table);
        let section;
        for (const one of made.querySelectorAll('.walk > :not(dl)')) {
            const group = one.querySelector('.group:not(:empty)');
            if (!isWhole && !group?.textContent.startsWith('W')) continue;
            if (!isWhole || one.matches('h2')) box.append((section = element('section')));
            if (one.matches('.scroll')) one.tabIndex = 0;
            const title = one.matches('h2') && one.textContent.replace(/^\d+\. /, '');
            section.append(title ? element('h3', title) : one);
        }
        page.append(box);
    }

    drawQuestion(page) {
        const details = element('details', '', 'question');
        details.append(element('summary', this.lesson.question), element('p', this.lesson.answer));
        details.open = state.printing; // on paper it could not be opened
        page.append(details);
    }

    drawSteps(page) {
        const line = element('nav', '', 'steps', { 'aria-label': say('Steps') });
        for (const by of [-1, 1]) {
            const [id, arrow, key] = [
                ['lesson-before', '←', '['],
                ['lesson-after', '→', ']'],
            ][by < 0 ? 0 : 1];
            const to = sentences[state.sentence + by];
            if (!to && !isProjecting()) continue;
            const name = isProjecting() ? '' : to.lesson.title;
            const words = by < 0 ? `← ${name}` : `${name} →`;
            const go = () => (isProjecting() ? stepSlide(by) : stepSentence(by));
            const title = say('# does the same', isProjecting() ? arrow : key);
            line.append(buttonFor(go, words, '', { id, title }));
        }
        page.append(line);
    }
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

// Show the figures of a page alone; do they fit?
function fits(page, shows) {
    for (const one of shows.querySelectorAll('section')) one.hidden = !page.includes(one);
    const [last, whole] = [page.at(-1), shows].map((one) => one.getBoundingClientRect().bottom);
    const wide = [...shows.querySelectorAll('.scroll')];
    const isWhole = page.every(({ view }) => {
        const few = view?.tensor.columnCount <= PLACES_COLUMNS;
        return !view || (few ? view.hasPlaces : view.hasNumbers);
    });
    return last <= whole && isWhole && wide.every((one) => one.scrollWidth <= one.clientWidth);
}

// Figures of a projected step in groups that fit a slide.
function figurePages(shows) {
    const pages = [];
    for (const one of shows.querySelectorAll('section')) {
        const last = pages.at(-1);
        if (last && fits([...last, one], shows)) last.push(one);
        else pages.push([one]);
    }
    return pages;
}

// The numbers of a table or a matrix, as texts write them.
function numbersOfFigure(figure) {
    const cells = [...figure.querySelectorAll('td')].map((one) => one.textContent);
    const { tensor, index } = figure.view || {};
    return [...cells, ...(tensor ? tensor.matrix(index) : [])].map((one) =>
        typeof one === 'string' ? one : one.toFixed(LESSON_PLACES),
    );
}

// Leave only the first four and the last two rows and columns of a large matrix.
function abridge(table) {
    const count = Math.max(...[...table.rows].map((row) => row.cells.length - 1));
    if (count <= ABRIDGED) return;
    const body = [...table.tBodies[0].rows];
    const cut = body.length > ABRIDGED / 2 ? body.slice(5, -2) : [];
    for (const row of cut) row.remove();
    for (const row of table.rows) {
        const group = row.querySelector('.group');
        if (group) {
            group.colSpan = 7;
            group.append(` (${say('# of #', 6, count)})`);
            continue;
        }
        while (row.cells.length > 8) row.deleteCell(5);
        for (const cell of cut.length && row === body[4] ? row.cells : [row.cells[5]])
            cell.textContent = '…';
    }
}

function placesOf(number) {
    return minus(number.toFixed(LESSON_PLACES));
}

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
    const words = element('p', '\u00a0', 'cell-words', { 'aria-live': 'polite' });
    const show = (cell) => {
        view.show(cell, cell, new Set(cell ? [cell.column] : []));
        const said = cell && cellWords(tensor, index, cell);
        words.textContent = cell ? `${said.names}: ${said.value}` : '\u00a0';
    };
    const wide = element('div', '', 'scroll');
    parent.append(wide, words);
    const narrow = tensor.columnCount > PLACES_COLUMNS && 0.9 * lettersLeast();
    const size = Math.min(letters, narrow || letters);
    const high = 0.87 * window.innerHeight - 4.5 * letters; // without the lines around it
    const large = letters && { most: 3 * letters, high, size, letters: size };
    const options = { marks, places: LESSON_PLACES, most: 34, ...large, point: show, keep: show };
    const view = new MatrixView(wide, tensor, index, room, options);
    parent.view = view;
}
