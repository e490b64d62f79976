// Attention as lines from queries to keys, aligned with the rows of the matrix.

const LINES_LEAST = 0.03;
const LINES_MOST = 4000; // more are slow to draw, and cannot be told apart
const LINES_ACROSS = 140;
const LINES_LABEL = 52;
const LINES_ROOM = 10 + LINES_ACROSS + LINES_LABEL;

class LinesView {
    constructor(parent, tensor, head, matrix, { point, keep, spare }) {
        Object.assign(this, { tensor, head, matrix });
        this.label = LINES_LABEL + clamp(spare, 0, 80);
        const rows = Math.max(tensor.rowCount, tensor.columnCount) - matrix.first;
        this.down = Math.max(matrix.down, matrix.top + rows * matrix.height) + 3;
        const across = LINES_ROOM - LINES_LABEL + this.label;
        const words = 'The same weights as lines from queries to keys';
        const marks = { role: 'img', 'aria-label': words };
        [this.canvas, this.context] = sharpCanvas(across, this.down, 'lines', marks);
        parent.append(this.canvas);
        this.canvas.addEventListener('pointermove', (event) => point(this.cellAt(event)));
        this.canvas.addEventListener('pointerleave', () => point(null));
        this.canvas.addEventListener('click', (event) => {
            const cell = this.cellAt(event);
            if (cell) keep(cell);
        });
        this.collect();
    }

    // Weak lines first, so that strong ones lie above them.
    collect() {
        const { tensor, matrix } = this;
        this.strokes = [];
        for (let row = matrix.first; row < tensor.rowCount; row++)
            for (let column = matrix.leftmost; column < tensor.columnCount; column++) {
                const value = tensor.at(this.head, row, column);
                const size = Math.abs(value);
                if (size >= LINES_LEAST) this.strokes.push({ row, column, value, size });
            }
        this.strokes.sort((a, b) => a.size - b.size);
        this.strongest = this.strokes.slice(-LINES_MOST);
    }

    y(at, first) {
        return this.matrix.top + this.matrix.height * (at - first + 0.5);
    }

    ends(stroke) {
        const { first, leftmost } = this.matrix;
        return [this.y(stroke.row, first), this.y(stroke.column, leftmost)];
    }

    // The strongest line at the pointer or, near the queries, of the query there; null: none.
    cellAt(event) {
        const { matrix, tensor } = this;
        const share = clamp((event.offsetX - 10) / LINES_ACROSS, 0, 1);
        const rise = share * share * (3 - 2 * share);
        const near = this.strongest.filter((stroke) => {
            const [from, to] = this.ends(stroke);
            return Math.abs(from + rise * (to - from) - event.offsetY) < 5;
        });
        if (near.length && share > 0.1) return near.at(-1);
        const row = Math.floor((event.offsetY - matrix.top) / matrix.height) + matrix.first;
        if (row < matrix.first || row >= tensor.rowCount || share > 0.5) return null;
        const mine = this.strokes.filter((stroke) => stroke.row === row).at(-1);
        return mine || null;
    }

    show(current) {
        const { context, tensor } = this;
        if (!state.printing) context.clearRect(0, 0, this.canvas.width, this.down);
        const mine = this.strokes.filter((stroke) => stroke.row === current?.row);
        for (const stroke of this.strongest) this.drawLine(stroke, false);
        for (const stroke of mine) this.drawLine(stroke, true);
        this.drawSecond();
        const keys = new Set(mine.filter((one) => one.size >= 0.1).map((one) => one.column));
        this.drawKeys(keys);
        context.font = font(12);
        context.fillStyle = variable('--quiet');
        context.textAlign = 'left';
        context.fillText(say(tensor.rows), 10, this.matrix.top - 12);
        context.fillText(say(tensor.columns), 10 + LINES_ACROSS + 6, this.matrix.top - 12);
        return keys;
    }

    drawLine(stroke, strong) {
        const { context } = this;
        const [from, to] = this.ends(stroke);
        const [x1, x2] = [10, 10 + LINES_ACROSS];
        const middle = (x1 + x2) / 2;
        const names = strong ? ['--bar', '--below'] : ['--faint', '--faint-below'];
        context.strokeStyle = variable(names[stroke.value < 0 ? 1 : 0]);
        const most = Math.min(strong ? 7 : 4, 0.5 * this.matrix.height);
        context.lineWidth = 0.5 + most * stroke.size;
        context.beginPath();
        context.moveTo(x1, from);
        context.bezierCurveTo(middle, from, middle, to, x2, to);
        context.stroke();
    }

    // Between the texts of a pair.
    drawSecond() {
        const { context, tensor, matrix } = this;
        const [row, column] = [tensor.second('row'), tensor.second('column')];
        if (!row || !column) return;
        context.strokeStyle = variable('--quiet');
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(10, this.y(row - 0.5, matrix.first));
        context.lineTo(10 + LINES_ACROSS, this.y(column - 0.5, matrix.leftmost));
        context.stroke();
    }

    drawKeys(bold) {
        const { context, tensor, matrix } = this;
        const every = Math.ceil(Math.max(11, LABEL_LEAST) / matrix.height);
        const size = clamp(matrix.height, 11, TEXT_SIZE);
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        for (let key = matrix.leftmost; key < tensor.columnCount; key++) {
            const strong = bold.has(key);
            if (!strong && (key - matrix.leftmost) % every) continue;
            context.font = font(size, strong ? '700' : '');
            context.fillStyle = variable(strong ? '--text' : '--quiet');
            const text = shortened(tensor.label('column', key), this.label - 8, size);
            context.fillText(text, 10 + LINES_ACROSS + 8, this.y(key, matrix.leftmost));
        }
    }
}
