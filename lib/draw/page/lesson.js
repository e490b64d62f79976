// A step of the tour: text, tensors with the cells it discusses, and a question.

const LESSON_PLACES = 4; // decimals, as in the texts
const PROJECTED = 20; // pixels of letters for a projector

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
        const isExplained = this.lesson.line.startsWith('attn-cli explain');
        const isWhole = isExplained || this.lesson.parts;
        if (this.lesson.arithmetic) this.drawArithmetic(shows, isWhole);
        if (this.lesson.walk) new WalkView(shows, sentence, room);
        else if (!isWhole) this.drawMatrices(shows, room);
    }

    drawHead(page) {
        const { lesson } = this;
        page.append(
            element('h2', lesson.title),
            element('div', quoted(this.sentence.title), 'quiet'),
            element('p', lesson.before),
        );
        if (this.sentence.untrained)
            page.children[1].after(element('div', `${say(NOT_TRAINED)}.`, 'note caption'));
        if (lesson.line) page.append(commandLine(lesson.line));
        page.append(element('p'));
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
            for (let index = 0; index < tensor.shape[0]; index++) {
                const name = tensor.name(index);
                const part = element('section', '', 'side', { 'aria-label': name });
                const axes = [say(tensor.rows), say(tensor.columns)];
                const words = say('rows: #, columns: #', ...axes);
                part.append(element('h3', name), element('p', words, 'caption'));
                grid.append(part);
                const isHere = (one) => one.tensor === tensor && one.index === index;
                const marks = this.marks.filter(isHere);
                lessonMatrix(part, tensor, index, room, marks);
                if (arrows) drawing.append(arrows.content.cloneNode(true));
            }
        });
        if (drawing.children.length > 1) grid.append(drawing);
    }

    // Steps of `explain`, or its weight matrices alone. Numbers of the text are marked.
    drawArithmetic(page, isWhole) {
        const box = element('div', '', isWhole ? 'arithmetic' : 'arithmetic compare');
        const made = new DOMParser().parseFromString(this.lesson.arithmetic, 'text/html');
        const said = new Set(this.lesson.look.match(/-?\d+\.\d+/g));
        for (const cell of made.querySelectorAll('td'))
            if (said.has(cell.textContent)) cell.className = 'said';
        for (const { lastChild: last } of made.querySelectorAll('.group:not(:empty)'))
            if (last.data)
                last.data = last.data.replace(/(\d+) of (\d+)/, (_, ...n) => say('# of #', ...n));
        for (const one of made.querySelectorAll('h2, p:not([class]), th[scope="col"], tfoot th')) {
            const words = one.textContent.replace(/^\d+\. /, '');
            if (one.matches('h2') || say(words) !== words) one.textContent = say(words);
        }
        for (const one of made.querySelectorAll('.formula, .worked, th:has(sub, i)'))
            one.translate = false; // symbols have one name in formulas and tables
        let section;
        for (const one of made.querySelectorAll('.walk > :not(dl)')) {
            const group = one.querySelector('.group:not(:empty)');
            if (!isWhole && !group?.textContent.startsWith('W')) continue;
            if (!isWhole || one.matches('h2')) box.append((section = element('section')));
            if (one.matches('.scroll')) one.tabIndex = 0;
            section.append(one.matches('h2') ? element('h3', one.textContent) : one);
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
            const [id, key] = by < 0 ? ['lesson-before', '['] : ['lesson-after', ']'];
            const to = sentences[state.sentence + by];
            if (!to) continue;
            const words = by < 0 ? `← ${to.lesson.title}` : `${to.lesson.title} →`;
            const go = () => {
                stepSentence(by);
                window.scrollTo(0, 0);
            };
            line.append(buttonFor(go, words, '', { id, title: say('# does the same', key) }));
        }
        page.append(line);
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
function lessonMatrix(parent, tensor, index, room, marks = []) {
    const words = element('p', '\u00a0', 'cell-words', { 'aria-live': 'polite' });
    const show = (cell) => {
        view.show(cell, cell, new Set(cell ? [cell.column] : []));
        const said = cell && cellWords(tensor, index, cell);
        words.textContent = cell ? `${said.names}: ${said.value}` : '\u00a0';
    };
    const wide = element('div', '', 'scroll');
    parent.append(wide, words);
    const large = isProjecting() && { most: 64, size: PROJECTED, letters: PROJECTED };
    const options = { marks, places: LESSON_PLACES, most: 34, ...large, point: show, keep: show };
    const view = new MatrixView(wide, tensor, index, room, options);
}
