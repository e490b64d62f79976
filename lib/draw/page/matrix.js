// A head as cells, with labels; the mouse and the arrow keys go from cell to cell.

const CELL_LEAST = 3;
const CELL_SCROLLED = 7; // rather than smaller, a matrix is higher than the window
const CELL_MOST = 56;
const BELOW = 120; // for what stands at the foot of the window
const MATRIX_MOST = 4000; // pixels of a canvas

// Whole pixels, so that all cells are equally large.
function cellSize(room, count, most) {
    const pixels = window.devicePixelRatio || 1;
    const size = clamp(room / count, CELL_LEAST, most);
    return Math.max(Math.floor(size * pixels), 1) / pixels;
}

class MatrixView {
    // `room`: how wide it may become, in points; `holder` keeps a cell, `marks` stand out.
    constructor(parent, tensor, index, room, { holder = state, marks = [] } = {}) {
        Object.assign(this, { tensor, index, holder, marks });
        this.explains = explainsCells() && parent.id === 'stage';
        this.first = firstShown(tensor);
        this.leftmost = firstColumn(tensor);
        const stage = parent.closest('#stage') || parent;
        const above = stage.getBoundingClientRect().top + window.scrollY;
        const named = tensor.labels('column');
        const labels = named ? labelRoom(tensor, 'column', this.leftmost, 130) : 22;
        this.measure(room, Math.max(window.innerHeight - above - labels - BELOW, 160));
        this.build(parent);
        this.draw();
    }

    measure(room, down) {
        const { tensor } = this;
        const square = tensor.columns === 'key';
        this.left = labelRoom(tensor, 'row', this.first, 130);
        const free = Math.max(room - this.left - 20, 120);
        const most = Math.floor(MATRIX_MOST / CELL_LEAST);
        this.cells = levelsOf(tensor, this.index, most, most);
        const fitting = square ? Math.max(down / this.cells.rows, CELL_SCROLLED) : CELL_MOST;
        this.width = cellSize(free, this.cells.columns, Math.min(fitting, CELL_MOST));
        this.height = square ? this.width : cellSize(down, this.cells.rows, 26);
        this.numeric = !tensor.labels('column');
        this.turned =
            !this.numeric &&
            labelRoom(tensor, 'column', this.leftmost, 400) > this.width * this.cells.columnStep;
        this.top = this.turned ? labelRoom(tensor, 'column', this.leftmost, 130) : 22;
        this.across = this.left + this.width * this.cells.columns;
        this.down = this.top + this.height * this.cells.rows;
        this.rows = tensor.rowCount - this.first;
        this.columns = tensor.columnCount - this.leftmost;
    }

    build(parent) {
        const [width, height] = [this.across + 2, this.down + 2];
        const words =
            `${this.tensor.name(this.index)}: ${this.rows} rows, ` +
            `${this.columns} columns; arrow keys go from cell to cell; Table says the same`;
        [this.base, this.context] = sharpCanvas(width, height, '', words);
        [this.over, this.overContext] = sharpCanvas(width, height, 'over');
        this.base.addEventListener('mousemove', (event) => this.point(this.cellAt(event)));
        this.base.addEventListener('mouseleave', () => this.point(this.holder.kept));
        this.base.addEventListener('click', (event) => this.keep(this.cellAt(event)));
        this.base.addEventListener('keydown', (event) => this.key(event));
        addPlot(parent, width, height, [this.base, this.over]);
    }

    draw() {
        const { context, tensor } = this;
        const box = {
            x: this.left,
            y: this.top,
            width: this.width * this.cells.columns,
            height: this.height * this.cells.rows,
        };
        context.clearRect(0, 0, this.across + 2, this.down + 2);
        hatch(context, box);
        paintCells(context, this.cells, rampOf(tensor), box);
        context.strokeStyle = variable('--edge');
        context.strokeRect(box.x, box.y, box.width, box.height);
        this.drawLabels(context, new Set(), variable('--text'));
        this.drawNumbers();
        for (const cell of this.marks) this.frame(context, this.placeOf(cell));
        this.point(this.holder.kept);
    }

    // All that have room, and those in `marked`.
    drawLabels(context, marked, colour) {
        const { tensor, cells } = this;
        const size = (pitch) => Math.min(LABEL_SIZE, Math.max(pitch * 0.85, 9));
        const rowSize = size(this.height);
        const rowEvery = Math.ceil((rowSize * 1.1) / this.height);
        const columnSize = size(this.turned ? this.width : 99);
        const columnEvery =
            this.turned || !this.numeric
                ? Math.ceil((columnSize * 1.1) / this.width)
                : Math.ceil((textWidth(String(this.columns), columnSize) + 6) / this.width);
        context.fillStyle = colour;
        context.textBaseline = 'middle';
        const weight = marked.size ? '600' : '';
        for (let row = 0; row < cells.rows; row++)
            if (marked.size ? marked.has(`r${row}`) : row % rowEvery === 0)
                this.rowLabel(context, row, rowSize, weight);
        for (let column = 0; column < cells.columns; column++)
            if (marked.size ? marked.has(`c${column}`) : column % columnEvery === 0)
                this.columnLabel(context, column, columnSize, weight);
    }

    rowLabel(context, row, size, weight) {
        const text = this.tensor.label('row', this.first + row * this.cells.rowStep);
        context.font = font(size, weight);
        context.textAlign = 'right';
        context.fillText(
            shortened(text, this.left - 8, size),
            this.left - 5,
            this.top + this.height * (row + 0.5),
        );
    }

    columnLabel(context, column, size, weight) {
        const text = this.tensor.label('column', this.leftmost + column * this.cells.columnStep);
        const x = this.left + this.width * (column + 0.5);
        context.font = font(size, weight);
        context.save();
        context.translate(x, this.top - 5);
        if (this.turned) {
            context.rotate(-Math.PI / 2);
            context.textAlign = 'left';
            context.fillText(shortened(text, this.top - 8, size), 0, 0);
        } else {
            context.textAlign = 'center';
            context.fillText(text, 0, -5);
        }
        context.restore();
    }

    drawNumbers() {
        const { tensor, cells, context } = this;
        if (this.width < 34 || this.height < 18 || cells.rowStep > 1 || cells.columnStep > 1)
            return;
        const ramp = rampOf(tensor);
        context.font = font(this.width < 46 ? 11 : 13);
        context.textAlign = 'center';
        for (let row = 0; row < cells.rows; row++) {
            for (let column = 0; column < cells.columns; column++) {
                const level = cells.levels[row * cells.columns + column];
                if (!level) continue;
                const value = tensor.at(this.index, row + this.first, column + this.leftmost);
                const shown = Math.abs(value) < 0.005 ? 0 : value;
                const text = Math.abs(value) < 100 ? shown.toFixed(2) : value.toPrecision(3);
                context.fillStyle = inkOn(ramp[level]);
                context.fillText(
                    text,
                    this.left + this.width * (column + 0.5),
                    this.top + this.height * (row + 0.5) + 1,
                );
            }
        }
    }

    cellAt(event) {
        const column = Math.floor((event.offsetX - this.left) / this.width);
        const row = Math.floor((event.offsetY - this.top) / this.height);
        const inside =
            row >= 0 && column >= 0 && row < this.cells.rows && column < this.cells.columns;
        return inside ? this.loudest(row, column) : null;
    }

    // The number that a cell shows, of those that share it.
    loudest(row, column) {
        const { tensor, cells } = this;
        const data = tensor.matrix(this.index);
        const top = this.first + row * cells.rowStep;
        const left = this.leftmost + column * cells.columnStep;
        let best = { row: top, column: left };
        let most = -1;
        for (let r = top; r < Math.min(top + cells.rowStep, tensor.rowCount); r++)
            for (let c = left; c < Math.min(left + cells.columnStep, tensor.columnCount); c++) {
                const value = Math.abs(data[r * tensor.columnCount + c]);
                if (value > most) {
                    most = value;
                    best = { row: r, column: c };
                }
            }
        return best;
    }

    keep(cell) {
        const { kept } = this.holder;
        const same = cell && kept && cell.row === kept.row && cell.column === kept.column;
        this.holder.kept = same ? null : cell;
        if (this.explains) keepCell(this.holder.kept);
        else this.point(this.holder.kept || cell);
    }

    key(event) {
        if (event.key === 'Enter' && this.pointed) this.keep(this.pointed);
        const step = arrowOf(event);
        if (!step) return;
        const { tensor, cells, pointed, first, leftmost } = this;
        const by = pointed ? [step[0] * cells.rowStep, step[1] * cells.columnStep] : [0, 0];
        const from = pointed || { row: first, column: leftmost };
        this.point({
            row: clamp(from.row + by[0], first, tensor.rowCount - 1),
            column: clamp(from.column + by[1], leftmost, tensor.columnCount - 1),
        });
    }

    point(cell) {
        const { overContext: context } = this;
        // in print, Chromium clears what lies below, too; and there the canvas is new
        if (!state.printing)
            context.clearRect(0, 0, this.across + 2, this.down + 2);
        const seen =
            cell &&
            cell.row >= this.first &&
            cell.column >= this.leftmost &&
            cell.row < this.tensor.rowCount &&
            cell.column < this.tensor.columnCount;
        this.pointed = seen ? cell : null;
        readCell(this.tensor, this.index, this.pointed);
        if (this.follow) this.follow(this.pointed);
        if (!seen) return;
        const [row, column, x, y] = this.placeOf(cell);
        context.fillStyle = variable('--ground');
        context.globalAlpha = 0.7;
        context.fillRect(0, 0, this.left - 1, this.down);
        context.fillRect(0, 0, this.across + 2, this.top - 1);
        context.globalAlpha = 1;
        this.drawLabels(context, new Set([`r${row}`, `c${column}`]), variable('--text'));
        context.strokeStyle = variable('--mark');
        context.lineWidth = 1;
        context.strokeRect(this.left, y, this.across - this.left, this.height);
        context.strokeRect(x, this.top, this.width, this.down - this.top);
        this.frame(context, [row, column, x, y]);
    }

    // The row and the column of a cell as it is drawn, and its corner.
    placeOf(cell) {
        const row = Math.floor((cell.row - this.first) / this.cells.rowStep);
        const column = Math.floor((cell.column - this.leftmost) / this.cells.columnStep);
        return [row, column, this.left + column * this.width, this.top + row * this.height];
    }

    frame(context, [, , x, y]) {
        context.strokeStyle = variable('--mark');
        context.lineWidth = 2.5;
        context.strokeRect(x, y, this.width, this.height);
    }
}
