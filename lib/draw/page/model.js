// All layers and heads at one look, as cells or lines; one that is chosen opens beside them.

function thumbnail(tensor, index, size, lines) {
    const [canvas, context] = sharpCanvas(size, size);
    const pixels = Math.round(size * (window.devicePixelRatio || 1));
    context.fillStyle = variable('--nothing');
    if (!lines) context.fillRect(0, 0, size, size);
    const cells = levelsOf(tensor, index, lines ? 32 : pixels, lines ? 32 : pixels);
    const ramp = rampOf(tensor);
    if (!lines) {
        paintCells(context, cells, ramp, { x: 0, y: 0, width: size, height: size });
        return canvas;
    }
    const most = Math.max(cells.rows, cells.columns);
    const y = (i) => (size * (i + 0.5)) / most;
    const strokes = [];
    for (let i = 0; i < cells.levels.length; i++)
        if (cells.levels[i] >= LINES_LEAST * 255) strokes.push([cells.levels[i], i]);
    strokes.sort((a, b) => a[0] - b[0]);
    for (const [level, i] of strokes) {
        context.strokeStyle = css(ramp[level]);
        context.lineWidth = 0.4 + (1.6 * level) / 255;
        context.beginPath();
        context.moveTo(2, y(Math.floor(i / cells.columns)));
        context.lineTo(size - 2, y(i % cells.columns));
        context.stroke();
    }
    return canvas;
}

function isAttention(tensor) {
    return tensor.columns === 'key' && extentOfKind(tensor).low >= 0;
}

class ModelView {
    constructor(parent, room) {
        this.tensors = current().of(state.kind);
        const heads = Math.max(...this.tensors.map((tensor) => tensor.shape[0]));
        const size = Math.floor(clamp((room - 70) / heads - 10, 26, 150));
        this.parent = parent;
        this.drawChoices(parent);
        this.grid = element('div', '', 'grid', { role: 'group' });
        parent.append(this.grid);
        if (this.sorted) {
            this.grid.classList.add('sorted');
            this.grid.setAttribute('aria-label', `Heads, by ${state.sortBy} from the highest on`);
            this.drawSorted(size);
            return;
        }
        this.grid.style.gridTemplateColumns = `max-content repeat(${heads}, max-content)`;
        this.grid.setAttribute('aria-label', 'Layers down, heads across');
        this.drawNames(heads);
        this.drawRows(size, 0);
    }

    // A score that there is, of heads that it knows.
    get sorted() {
        const { scores } = current();
        const known = scores && this.tensors.some((tensor) => scores.of(tensor, 0));
        return known && scores.names.includes(state.sortBy);
    }

    drawChoices(parent) {
        const choices = element('div', '', 'choices');
        const { scores } = current();
        if (scores && this.tensors.some((tensor) => scores.of(tensor, 0))) {
            const names = [['', 'layer'], ...scores.names.map((name) => [name, name])];
            const sort = (sortBy) => set({ sortBy });
            choices.append(chooser('Sorted by', 'sort-by', names, state.sortBy, sort));
        }
        if (isAttention(this.tensors[0])) {
            const forms = { cells: 'cells', lines: 'lines' };
            const choose = (form) => set({ smallLines: form === 'lines' });
            const chosen = state.smallLines ? 'lines' : 'cells';
            choices.append(...radios('small', forms, chosen, choose));
        }
        if (choices.childNodes.length) parent.append(choices);
    }

    drawSorted(size) {
        const { scores } = current();
        for (const { row, index, known } of headsByScore(this.tensors, state.sortBy)) {
            const button = this.button(row, index, size);
            const place = `${this.tensors[row].layer}.${this.tensors[row].heads[index]}`;
            const value = scores.text(known, state.sortBy) || 'no score';
            button.append(element('span', `${place}  ${value}`, 'score'));
            this.grid.append(button);
        }
    }

    button(at, index, size) {
        const tensor = this.tensors[at];
        const role = headRole(tensor, index);
        const name = [tensor.name(index), role, scoreWords(tensor, index)];
        const words = name.filter(Boolean).join(' · ');
        const button = buttonFor(() => this.choose(at, index), '', '', {
            ...{ title: words, 'aria-label': words, 'data-row': at, 'data-head': index },
        });
        button.append(thumbnail(tensor, index, size, state.smallLines && isAttention(tensor)));
        if (role) {
            const label = element('span', role, 'role');
            label.style.maxWidth = `${Math.max(size, 60)}px`;
            button.append(label);
        }
        button.addEventListener('mouseenter', () => read(words));
        this.mark(button);
        return button;
    }

    drawNames(heads) {
        this.grid.append(element('span', '', 'axis'));
        for (let head = 0; head < heads; head++) {
            const names = this.tensors[0].heads;
            const name = names ? `${head ? '' : 'head '}${names[head]}` : '';
            this.grid.append(element('span', name, 'axis'));
        }
    }

    // A row at a time: the page answers while the rest is drawn.
    drawRows(size, at) {
        if (at === this.tensors.length || !this.grid.isConnected) return;
        const tensor = this.tensors[at];
        const name = tensor.layer === null ? '' : `${at ? '' : 'layer '}${tensor.layer}`;
        this.grid.append(element('span', name, 'axis'));
        for (let index = 0; index < tensor.shape[0]; index++)
            this.grid.append(this.button(at, index, size));
        const later = at % 4 === 3 && !state.printing;
        if (later) requestAnimationFrame(() => this.drawRows(size, at + 1));
        else this.drawRows(size, at + 1);
    }

    mark(button) {
        const here =
            state.opened &&
            button.dataset.row === String(state.layer) &&
            button.dataset.head === String(state.head);
        button.setAttribute('aria-pressed', String(here));
    }

    // The chosen one again closes it.
    choose(layer, head) {
        const again = state.opened && layer === state.layer && head === state.head;
        openHead({ layer, head, opened: !again });
    }
}

let modelView = null;

// Open a head beside the others: they are only drawn anew where they get more or less room.
function openHead(changes) {
    const there = state.opened && changes.opened;
    if (!there) {
        set(changes);
        return;
    }
    Object.assign(state, changes);
    settle();
    modelView.grid.querySelectorAll('button').forEach((button) => modelView.mark(button));
    drawDetail();
}

// The chosen head, large, beside the others.
function drawDetail() {
    const detail = document.getElementById('detail');
    detail.replaceChildren();
    detail.hidden = !(state.view === 'model' && state.opened);
    if (detail.hidden) return;
    const tensor = shownTensor();
    const asLines = state.smallLines && isAttention(tensor);
    const heading = element('h2', `${tensor.name(state.head)} `);
    const enlarge = () => set({ view: asLines ? 'lines' : 'matrix', lineHeads: new Set() });
    heading.append(buttonFor(enlarge, 'Large'));
    detail.append(heading);
    drawScores(detail, tensor, state.head);
    const room = roomOf(detail) - 40;
    if (asLines) new LinesView(detail, tensor, [state.head], room);
    else new MatrixView(detail, tensor, state.head, room);
}
