// A head as cells with labels. The mouse, touch and arrow keys move over it; a cell can be kept.

const CELL_USUAL = 40; // the largest width of cells whose columns are no keys
const CELL_NUMBER = 27; // narrower cells show no numbers,
const ROW_NUMBER = 14; // nor do lower rows
const ROW_LEAST = 15;
const ROW_MOST = 76;
const ROWS_MANY = 18; // matrices with more rows have rows of at least ROW_LEAST_OF_MANY
const ROW_LEAST_OF_MANY = 11;
const NUMBER_LEAST = 0.005;
const NUMBER_SIZE = 11; // the smallest letters of numbers,
const NUMBER_MOST = 15; // and the largest, but in a presentation
const LABEL_LEAST = 10; // smaller cells have every nth label
const CANVAS_MOST = 4000;
const PLACES_COLUMNS = 10; // more columns are too narrow for all decimals

// Cells end at whole screen pixels: all have the same size.
function cellSize(room, count, most) {
    const pixels = window.devicePixelRatio || 1;
    const size = Math.min(room / count, most);
    if (size >= 16) return 2 * Math.floor(size / 2);
    return Math.max(Math.floor(size * pixels), 1) / pixels;
}

class MatrixView {
    // `room`: the width to fill. `options`: marks (cells with a frame), compact (for a phone),
    // high (the height to fill), most (the largest size of cells that are square, instead), before
    // (the change of a cell by its row and column, or null), grows (letters grow with the cells),
    // places (decimals of all numbers, for which few columns are wide enough), size and letters (of
    // labels, and of numbers at least), explains (Enter does, a key of the screen), and callbacks
    // point(cell) and keep(cell).
    constructor(parent, tensor, index, room, options = {}) {
        const usual = { marks: [], high: Infinity, before: null, size: TEXT_SIZE };
        Object.assign(this, usual, { letters: NUMBER_SIZE, tensor, index }, options);
        this.first = firstShown(tensor);
        this.leftmost = firstColumn(tensor);
        this.measure(room);
        for (let i = 0; this.grows && i < 3; i++) {
            this.size = clamp(Math.round(0.55 * this.height), TEXT_SIZE, 30);
            this.measure(room);
        }
        this.build(parent);
        this.draw();
    }

    // Cells of attention are as wide as the room allows, and as high as the window leaves; names of
    // columns lie flat where they fit, else they stand upright.
    measure(room) {
        const { tensor, compact } = this;
        const square = tensor.columns === 'key';
        const named = tensor.labels('column') !== null;
        const [narrow, wide] = isCross(tensor) ? [96, 13] : [43, 7.4]; // two words or one
        // the names of the axes are as large as the numbers
        const [wideAxes, highAxes] = [56, 34].map((one) => (one * this.letters) / NUMBER_SIZE);
        const labels = this.widestLabel('row') + 9;
        this.left = compact ? narrow : clamp(labels, wideAxes, wide * this.size);
        this.free = Math.max(room - this.left - 2, 100);
        const most = Math.floor(CANVAS_MOST / 2);
        this.cells = levelsOf(tensor, this.index, most, Math.min(most, Math.floor(this.free)));
        const { columns, rows } = this.cells;
        const widest = this.widestLabel('column');
        const isSquare = square && this.most; // of a lesson, and on paper
        const high = (this.high - highAxes - this.size) / rows;
        const usual = square ? Infinity : CELL_USUAL;
        const largest = isSquare ? Math.min(Math.max(high, 8), this.most) : usual;
        this.width = cellSize(this.free, columns, largest);
        this.isUpright = named && widest + 6 > this.width;
        const above = this.isUpright ? clamp(widest + 14, highAxes, 6.5 * this.size) : highAxes;
        this.top = named ? Math.ceil(above) : this.size + 7;
        this.height = isSquare ? this.width : square ? this.heightOf(rows) : 24;
        if (square && !isSquare) this.left = room - 2 - this.width * columns; // what is left over
        if (columns > PLACES_COLUMNS) this.places = undefined;
        if (this.places !== undefined) this.fitNumbers();
        this.named = named;
        this.across = this.left + this.width * columns;
        this.down = this.top + this.height * rows;
        this.reach = this.across + 2;
    }

    heightOf(rows) {
        const least = rows > ROWS_MANY ? ROW_LEAST_OF_MANY : ROW_LEAST;
        if (this.compact) return Math.max(Math.floor(this.width), rows > ROWS_MANY ? 12 : 30);
        const room = (this.high - this.top) / rows;
        const most = Math.min(this.width, this.grows ? Infinity : ROW_MOST);
        return Math.floor(clamp(room, least, Math.max(least, most)));
    }

    // Cells as wide as their numbers; whole numbers have no decimals.
    fitNumbers() {
        const numbers = [...this.tensor.matrix(this.index)].filter(Number.isFinite);
        if (numbers.every(Number.isInteger)) this.places = 0;
        const width = (value) => textWidth(this.textOf(value), this.letters);
        const cell = 2 * Math.ceil(Math.max(2 * this.letters, ...numbers.map(width)) / 2) + 6;
        const isTooWide = this.letters > NUMBER_SIZE && cell * this.cells.columns > this.free;
        if (isTooWide) return void (this.places = undefined);
        this.hasPlaces = true;
        this.width = cell;
        this.height = Math.max(24, 1.5 * this.letters);
    }

    textOf(value) {
        if (this.places === undefined) return cellText(this.tensor, value, this.width);
        return Number.isFinite(value) ? minus(value.toFixed(this.places)) : '−∞';
    }

    widestLabel(axis) {
        const width = (_, at) => textWidth(this.tensor.label(axis, at), this.size);
        const labels = (this.tensor.labels(axis) || []).slice(0, 512);
        return Math.ceil(Math.max(0, ...labels.map(width)));
    }

    build(parent) {
        const height = this.down + 3;
        [this.base, this.context] = sharpCanvas(this.reach, height, 'base');
        const { tensor } = this;
        const what = `${tensor.isDifference ? 'Change' : 'Matrix'} of ${tensor.name(this.index)}`;
        const keys = `Arrow keys move${this.explains ? ', Enter explains' : ''}`;
        const label = `${what}: ${tensor.rows} by ${tensor.columns}. ${keys}.`;
        [this.over, this.overContext] = sharpCanvas(this.reach, height, 'over', {
            ...{ role: 'application', tabindex: 0, 'aria-label': label },
            ...(this.explains && { 'aria-describedby': 'readout' }),
        });
        const sheet = element('div', '', 'sheet');
        Object.assign(sheet.style, { width: `${this.reach}px`, height: `${height}px` });
        sheet.dataset.cells = [this.left, this.top, this.width, this.height];
        sheet.append(this.base, this.over);
        parent.append(sheet);
        this.listen();
    }

    listen() {
        const { over } = this;
        const move = (event) => this.point?.(this.cellAt(event));
        over.addEventListener('pointermove', move);
        over.addEventListener('pointerdown', (event) => {
            if (event.pointerType === 'mouse') return;
            over.setPointerCapture(event.pointerId);
            move(event);
        });
        over.addEventListener('pointerleave', () => this.point?.(null));
        over.addEventListener('click', (event) => {
            const cell = this.cellAt(event);
            if (cell) this.keep?.(cell);
        });
        over.addEventListener('keydown', (event) => this.key(event));
    }

    key(event) {
        const step = arrowOf(event);
        if (!step) return;
        const from = this.current || { row: this.first, column: this.leftmost };
        const { tensor, cells, first, leftmost } = this;
        const by = this.current ? [step[0] * cells.rowStep, step[1] * cells.columnStep] : [0, 0];
        const row = clamp(from.row + by[0], first, tensor.rowCount - 1);
        const column = clamp(from.column + by[1], leftmost, tensor.columnCount - 1);
        this.keep?.({ row, column }, true);
    }

    box() {
        const { left: x, top: y } = this;
        return { x, y, width: this.across - x, height: this.down - y };
    }

    draw() {
        const { context, cells } = this;
        const box = this.box();
        hatch(context, box);
        context.drawImage(canvasOfCells(cells), box.x, box.y, box.width, box.height);
        if (this.width >= 10) this.drawGrid();
        context.strokeStyle = variable('--edge');
        context.lineWidth = 1;
        context.strokeRect(box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
        this.drawNumbers();
        if (this.before) this.drawChanges();
        this.drawSecond();
        this.drawMarks();
        if (this.point !== hover) this.show(null, null); // else highlight() shows labels
    }

    drawGrid() {
        const { context, cells } = this;
        context.strokeStyle = variable('--edge');
        context.globalAlpha = 0.5;
        context.lineWidth = 1;
        for (let i = 0; i < cells.levels.length; i++) {
            if (!cells.levels[i]) continue;
            const x = this.left + (i % cells.columns) * this.width;
            const y = this.top + Math.floor(i / cells.columns) * this.height;
            context.strokeRect(x - 0.5, y - 0.5, this.width, this.height);
        }
        context.globalAlpha = 1;
    }

    // Do cells have numbers: is each of one number, and large enough?
    get areNumbered() {
        const { width, height, cells, letters, places } = this;
        const isRoomy = width >= Math.max(CELL_NUMBER, 1.7 * letters) && height >= ROW_NUMBER;
        const isWhole = cells.rowStep === 1 && cells.columnStep === 1;
        return isWhole && (isRoomy || places !== undefined);
    }

    numberSize() {
        const { tensor, letters } = this;
        const share = tensor.isAttention ? 0.4 : 0.28;
        const size = Math.max(letters, share * Math.min(this.width, this.height));
        const most = Math.max(letters, NUMBER_MOST);
        return this.grows || this.places !== undefined ? size : Math.min(size, most);
    }

    // Cells without a number are below NUMBER_LEAST, as the legend says; masked cells are hatched.
    drawNumbers() {
        const { tensor, cells, context } = this;
        if (!this.areNumbered) return;
        context.textAlign = 'center';
        context.textBaseline = 'middle';
        context.font = font(this.numberSize());
        for (let row = 0; row < cells.rows; row++)
            for (let column = 0; column < cells.columns; column++) {
                const level = cells.levels[row * cells.columns + column];
                const [at, key] = [row + this.first, column + this.leftmost];
                const value = tensor.at(this.index, at, key);
                const isSmall = this.places === undefined && Math.abs(value) < NUMBER_LEAST;
                if (!level || isSmall) continue;
                const shift = this.hasChange(at, key) ? this.changeShift() : [0, 0];
                context.fillStyle = inkOn(cells.ramp[level]);
                context.fillText(
                    this.textOf(value),
                    this.left + this.width * (column + 0.5) - shift[0],
                    this.top + this.height * (row + 0.5) + 0.5 - shift[1],
                );
            }
    }

    hasChange(row, column) {
        return this.before && Math.abs(this.before(row, column).by) >= CHANGE_LEAST;
    }

    // Number and change are beside each other or, in narrow cells, below each other; null: there is
    // room for the number alone.
    changeShift() {
        const size = this.numberSize();
        if (this.width >= 5.2 * size) return [1.2 * size, 0];
        return this.height >= 2.6 * size ? [0, 0.55 * size] : [0, 0];
    }

    // Frames of weights that became larger or smaller, with the change where there is room; corners
    // of cells that were masked.
    drawChanges() {
        const { context, tensor, cells } = this;
        if (cells.rowStep > 1 || cells.columnStep > 1) return;
        const { width, height } = this;
        for (let row = this.first; row < tensor.rowCount; row++)
            for (let column = this.leftmost; column < tensor.columnCount; column++) {
                const { by, wasMasked } = this.before(row, column);
                const isHidden = Number.isNaN(tensor.at(this.index, row, column));
                const { x, y } = this.placeOf({ row, column });
                if (wasMasked && !isHidden) this.drawCorner(x + width, y);
                this.opens ||= wasMasked && !isHidden;
                if (Math.abs(by) < CHANGE_LEAST) continue;
                context.strokeStyle = variable(by < 0 ? '--mark' : '--accent');
                context.lineWidth = Math.min(2.5, width / 5, height / 5);
                context.strokeRect(x + 1.5, y + 1.5, width - 3.5, height - 3.5);
                if (this.areNumbered) this.writeChange(by, row, column, isHidden);
            }
    }

    writeChange(by, row, column, isHidden) {
        const { context, cells } = this;
        const [right, down] = this.changeShift();
        const value = this.tensor.at(this.index, row, column);
        const isAlone = isHidden || Math.abs(value) < NUMBER_LEAST;
        if (!isAlone && !right && !down) return;
        const { x, y } = this.placeOf({ row, column });
        const level = cells.levels[(row - this.first) * cells.columns + column - this.leftmost];
        context.fillStyle = isHidden ? variable('--mark-text') : inkOn(cells.ramp[level]);
        context.font = font(0.8 * this.numberSize());
        const [across, below] = isAlone ? [0, 0] : [right, down];
        context.fillText(signedText(by, 2).replace('0.', '.'), x + this.width / 2 + across,
            y + this.height / 2 + 0.5 + below);
    }

    // Hatched, as the cell was.
    drawCorner(right, top) {
        const { context } = this;
        const size = Math.min(14, this.width / 2, this.height / 2);
        context.save();
        context.beginPath();
        context.moveTo(right - size, top);
        context.lineTo(right - 1, top);
        context.lineTo(right - 1, top + size);
        context.clip();
        hatch(context, { x: right - size, y: top, width: size, height: size });
        context.restore();
    }

    // Lines between the texts of a pair.
    drawSecond() {
        const { context, tensor, left, top, across, down } = this;
        const [row, column] = [tensor.second('row'), tensor.second('column')];
        const { x, y } = this.placeOf({ row, column });
        context.strokeStyle = variable('--text');
        context.lineWidth = 1.5;
        context.beginPath();
        if (row > this.first) (context.moveTo(left, y), context.lineTo(across, y));
        if (column > this.leftmost) (context.moveTo(x, top), context.lineTo(x, down));
        context.stroke();
    }

    drawMarks() {
        const { context } = this;
        context.strokeStyle = variable(this.tensor.isDifference ? '--text' : '--mark');
        context.lineWidth = Math.min(2, this.width / 4);
        for (const cell of this.marks) {
            const { x, y } = this.placeOf(cell);
            context.strokeRect(x + 0.5, y + 0.5, this.width - 1.5, this.height - 1.5);
        }
    }

    // Labels, the outline of the current row, and the kept cell; `columns` are keys in bold.
    show(current, kept, columns = new Set()) {
        const { overContext: context } = this;
        this.current = kept || current;
        // when printing, Chromium also clears what lies below
        if (!state.printing) context.clearRect(0, 0, this.reach, this.down + 4);
        this.drawLabels(current, columns);
        if (current?.row >= this.first) {
            const { y } = this.placeOf(current);
            context.strokeStyle = variable('--text');
            context.lineWidth = 2;
            context.strokeRect(this.left, y, this.across - this.left, this.height);
        }
        if (kept) {
            const { x, y } = this.placeOf(kept);
            context.lineWidth = 3;
            context.strokeStyle = variable('--accent');
            context.strokeRect(x - 2, y - 2, this.width + 4, this.height + 4);
            context.lineWidth = 1.5;
            context.strokeStyle = variable('--ground');
            context.strokeRect(x + 0.2, y + 0.2, this.width - 0.4, this.height - 0.4);
        }
    }

    drawLabels(current, bold) {
        const { compact, cells, height, left, named, overContext: context, top, width } = this;
        // Names at the places that fit: strong ones, and every nth that is not near a strong one.
        const put = (count, first, step, strong, { size, every, write }) => {
            for (let i = 0; i < count; i++) {
                const at = first + i * step;
                const near = [...strong].some((one) => Math.abs(one - at) < every * step);
                if (!strong.has(at) && (i % every || (near && every > 1))) continue;
                context.fillStyle = variable(strong.has(at) ? '--text' : '--quiet');
                context.font = font(size, strong.has(at) ? '700' : '');
                write(at, i);
            }
        };
        const nth = (pitch, size) => Math.ceil(Math.max(size, LABEL_LEAST) / Math.max(pitch, 1));
        const size = clamp(height, 11, compact ? 12 : this.size);
        context.textBaseline = 'middle';
        context.textAlign = 'right';
        put(cells.rows, this.first, cells.rowStep, new Set(current ? [current.row] : []), {
            size, every: nth(height, size),
            write: (row, i) => context.fillText(
                shortened(this.tensor.label('row', row), left - 8, size), left - 7,
                top + height * (i + 0.5)),
        });
        const high = named ? clamp(width, 11, this.size) : this.letters;
        put(cells.columns, this.leftmost, cells.columnStep, bold, {
            size: high, every: named ? nth(width, high) : Math.ceil(30 / width),
            write: (at, i) => this.columnLabel(context, at, left + width * (i + 0.5), high),
        });
        if (named) this.drawAxes(context);
    }

    columnLabel(context, column, x, size) {
        const text = this.tensor.label('column', column);
        context.save();
        context.translate(x, this.top - (this.named ? 9 : Math.max(6, size / 2)));
        context.textAlign = this.isUpright ? 'left' : 'center';
        if (this.isUpright) context.rotate(-Math.PI / 2);
        context.fillText(this.isUpright ? shortened(text, this.top - 12, size) : text, 0, 0);
        context.restore();
    }

    drawAxes(context) {
        const size = this.compact ? 10 : Math.max(this.letters, 0.7 * this.size);
        context.font = font(size);
        context.fillStyle = variable('--quiet');
        context.textAlign = 'right';
        const [x, y] = [this.left - (this.compact ? 4 : 7), this.top - 11];
        const { isMixer, rows, columns } = this.tensor;
        const [down, across] = isMixer ? ['reads', 'wrote'] : [rows, columns];
        context.fillText(`${say(across)} →`, x, y - 1.4 * size);
        context.fillText(`${say(down)} ↓`, x, y);
    }

    cellAt(event) {
        const column = Math.floor((event.offsetX - this.left) / this.width);
        const row = Math.floor((event.offsetY - this.top) / this.height);
        const inside =
            row >= 0 && column >= 0 && row < this.cells.rows && column < this.cells.columns;
        return inside ? this.strongest(row, column) : null;
    }

    // The number that a cell shows if several share it.
    strongest(row, column) {
        const { tensor, cells } = this;
        const top = this.first + row * cells.rowStep;
        const left = this.leftmost + column * cells.columnStep;
        let best = { row: top, column: left };
        let most = -1;
        for (let r = top; r < Math.min(top + cells.rowStep, tensor.rowCount); r++)
            for (let c = left; c < Math.min(left + cells.columnStep, tensor.columnCount); c++) {
                const value = Math.abs(tensor.at(this.index, r, c));
                if (value > most) [most, best] = [value, { row: r, column: c }];
            }
        return best;
    }

    placeOf(cell) {
        const row = Math.floor((cell.row - this.first) / this.cells.rowStep);
        const column = Math.floor((cell.column - this.leftmost) / this.cells.columnStep);
        return { x: this.left + column * this.width, y: this.top + row * this.height };
    }
}

// ".97" of a weight, "+.80" of a change, three digits of other numbers.
function cellText(tensor, value, width) {
    if (!Number.isFinite(value)) return '−∞';
    if (tensor.isMixer && Math.abs(value) < 10) {
        const short = Math.abs(value).toFixed(Math.abs(value) < 1 ? 2 : 1).replace(/^0/, '');
        return `${value < 0 ? '−' : ''}${short}`;
    }
    if (tensor.isAttention && Math.abs(value) <= 1) {
        const text = Math.abs(value).toFixed(2);
        const isNearly = text === '1.00' && Math.abs(value) < 0.99995;
        const short = isNearly ? '> .99' : text === '1.00' ? '1.0' : text.slice(1);
        return tensor.isDifference ? `${value < 0 ? '−' : '+'}${short}` : short;
    }
    const digits = width < 38 ? 2 : 3;
    const text = Math.abs(value) < 1 ? value.toFixed(digits) : value.toPrecision(digits);
    return minus(text).replace(/e\+?/, 'e');
}

// --- the same numbers as a table ---------------------------------------------------------------

const TABLE_MOST = 60000; // cells; more make browsers slow

function drawTable(parent, tensor, index) {
    const [first, left] = [firstShown(tensor), firstColumn(tensor)];
    const most = Math.floor(TABLE_MOST / (tensor.rowCount - first));
    const end = Math.min(tensor.columnCount, left + most);
    const names = (axis, from, to) =>
        Array.from({ length: to - from }, (_, at) => tensor.labels(axis)?.[from + at] ?? from + at);
    const textOf = (row, column) => {
        const value = tensor.at(index, first + row, left + column);
        return Number.isNaN(value) ? '' : tensor.text(value);
    };
    const { columnCount, columns, rowCount, rows } = tensor;
    const table = tableOf(names('column', left, end), names('row', first, rowCount), textOf);
    const count = end < columnCount && `; the first ${end - left} of ${columnCount} columns`;
    const caption = `${tensor.name(index)}: rows are ${rows}, columns ${columns}${count || ''}`;
    table.createCaption().textContent = caption;
    parent.append(tableRegion(`Numbers of ${tensor.name(index)}`, table));
}

// A table with names of columns (`heads`) and of rows; `marked`: the current row.
function tableOf(heads, names, textOf, { corner = '', marked, className = '' } = {}) {
    const table = element('table', '', className);
    const head = table.createTHead().insertRow();
    for (const name of [corner, ...heads]) head.append(headerCell(name, 'col'));
    const body = table.createTBody();
    names.forEach((name, row) => {
        const line = body.insertRow();
        if (row === marked) line.setAttribute('aria-current', 'true');
        line.append(headerCell(name, 'row'));
        for (let column = 0; column < heads.length; column++)
            line.insertCell().textContent = textOf(row, column);
    });
    return table;
}
