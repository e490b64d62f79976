// Attention as lines: tokens that look at the left, what they look at at the right. Several heads
// have a colour each; a token that is pointed at keeps its lines alone, and strips beside the
// tokens of the other side say how much of each head.

const LINES_LEAST = 0.03;
const LINES_MOST = 4000; // more are slow to draw, and nobody could tell them apart

class LinesView {
    // `beside`: the matrix that they stand beside, whose rows they follow.
    constructor(parent, tensor, heads, room, beside = null) {
        Object.assign(this, { tensor, heads, beside });
        this.first = firstShown(tensor);
        this.leftmost = firstColumn(tensor);
        this.rows = tensor.rowCount - this.first;
        this.columns = tensor.columnCount - this.leftmost;
        const most = Math.max(this.rows, this.columns);
        this.top = beside ? beside.top : 4;
        this.pitch = beside ? beside.pitch : clamp((window.innerHeight - 356) / most, 15, 34);
        this.leftRoom = labelRoom(tensor, 'row', this.first, 170) + 6;
        this.rightRoom = labelRoom(tensor, 'column', this.leftmost, 170) + 6;
        this.strip = clamp(heads.length * 9, 18, 90);
        this.span = clamp(room - this.leftRoom - this.rightRoom - 2 * this.strip, 120, 420);
        this.across = this.leftRoom + this.rightRoom + this.span + 2 * this.strip;
        this.down = this.top + most * this.pitch + 4;
        this.x1 = this.leftRoom + this.strip;
        this.x2 = this.x1 + this.span;
        this.build(parent);
        this.collect();
        this.draw(state.token, beside !== null);
    }

    build(parent) {
        const words =
            `${this.tensor.tensor}, ${this.tensor.layerName()}: ` +
            `lines from ${this.tensor.rows} to ${this.tensor.columns}; arrow keys go from ` +
            'token to token, Enter keeps the strongest line; Table says the same';
        [this.canvas, this.context] = sharpCanvas(this.across, this.down, '', words);
        this.canvas.tabIndex = this.beside ? -1 : 0;
        this.canvas.addEventListener('mousemove', (event) =>
            this.draw(this.tokenAt(event) || state.token),
        );
        this.canvas.addEventListener('mouseleave', () => {
            this.draw(state.token);
            if (this.beside) this.beside.leave();
        });
        this.canvas.addEventListener('click', (event) => {
            const token = this.tokenAt(event);
            const stroke = token || this.beside ? null : this.strokeAt(event);
            if (stroke && explainsCells()) {
                keepCell({ row: stroke.row, column: stroke.column });
                return;
            }
            const kept = state.token;
            const same = token && kept && token.side === kept.side && token.index === kept.index;
            state.token = same ? null : token;
            this.draw(state.token);
        });
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        addPlot(parent, this.across, this.down, [this.canvas]);
    }

    // The lines of all heads, weak ones first, so that strong ones lie above them.
    collect() {
        const { tensor } = this;
        this.strokes = [];
        this.heads.forEach((index, order) => {
            const data = tensor.matrix(index);
            const tones = tonesOf(tensor, index);
            for (let row = this.first; row < tensor.rowCount; row++) {
                const tone = tones(row);
                for (let column = this.leftmost; column < tensor.columnCount; column++) {
                    const share = tone.share(data[row * tensor.columnCount + column]);
                    if (share >= LINES_LEAST) this.strokes.push({ order, row, column, share });
                }
            }
        });
        this.strokes.sort((a, b) => a.share - b.share);
        this.strongest = this.strokes.slice(-LINES_MOST);
    }

    y(index) {
        return this.top + this.pitch * (index + 0.5);
    }

    // The strongest of the lines that pass there.
    strokeAt(event) {
        const x = (event.offsetX - this.x1) / this.span;
        if (x < 0 || x > 1) return null;
        // a line's height at x: its curve is the same for all, from 0 to 1
        let [low, high] = [0, 1];
        for (let i = 0; i < 20; i++) {
            const t = (low + high) / 2;
            const at = 1.5 * t * (1 - t) ** 2 + 1.5 * t * t * (1 - t) + t ** 3;
            if (at < x) low = t;
            else high = t;
        }
        const rise = 3 * low * low * (1 - low) + low ** 3;
        const shown = state.token
            ? this.strokes.filter((one) => one[state.token.side] === state.token.index)
            : this.strongest;
        const near = shown.filter((one) => {
            const [from, to] = [this.y(one.row - this.first), this.y(one.column - this.leftmost)];
            return Math.abs(from + rise * (to - from) - event.offsetY) < 5;
        });
        return near.at(-1) || null;
    }

    // From token to token, from side to side; the strongest line of one is kept.
    key(event) {
        const token = this.token || { side: 'row', index: this.first };
        const count = token.side === 'row' ? this.rows + this.first : this.columns + this.leftmost;
        const least = token.side === 'row' ? this.first : this.leftmost;
        if (event.key === 'Enter' && this.token && explainsCells()) {
            const mine = this.strokes.filter((one) => one[token.side] === token.index).at(-1);
            if (mine) keepCell({ row: mine.row, column: mine.column });
            return;
        }
        const step = arrowOf(event);
        if (!step) return;
        const side = { '-1': 'row', 1: 'column' }[step[1]];
        const index = this.token ? token.index + step[0] : token.index;
        const most = side === 'column' ? this.columns + this.leftmost : count;
        state.token = { side: side || token.side, index: clamp(index, least, most - 1) };
        this.draw(state.token);
    }

    tokenAt(event) {
        const index = Math.floor((event.offsetY - this.top) / this.pitch);
        const left = event.offsetX < this.x1;
        if (!left && event.offsetX < this.x2) return null;
        const count = left ? this.rows : this.columns;
        const from = left ? this.first : this.leftmost;
        return index >= 0 && index < count
            ? { side: left ? 'row' : 'column', index: index + from }
            : null;
    }

    colourOf(order) {
        return headColour(this.heads[order], this.tensor.shape[0]);
    }

    draw(token, silent = false) {
        const { context } = this;
        const ramp = rampOf(this.tensor);
        const several = this.heads.length > 1;
        this.token = token;
        context.clearRect(0, 0, this.across, this.down);
        for (const stroke of token ? this.strokes : this.strongest) {
            if (token && stroke[token.side] !== token.index) continue;
            context.beginPath();
            const middle = (this.x1 + this.x2) / 2;
            const y1 = this.y(stroke.row - this.first);
            const y2 = this.y(stroke.column - this.leftmost);
            context.moveTo(this.x1, y1);
            context.bezierCurveTo(middle, y1, middle, y2, this.x2, y2);
            context.globalAlpha = several ? 0.12 + 0.75 * stroke.share : 1;
            context.strokeStyle = several
                ? this.colourOf(stroke.order)
                : css(ramp[1 + Math.round(254 * stroke.share)]);
            context.lineWidth = 0.5 + 3 * stroke.share;
            context.stroke();
        }
        context.globalAlpha = 1;
        this.drawTokens('row', token);
        this.drawTokens('column', token);
        if (!silent) this.read(token);
    }

    drawTokens(side, token) {
        const { context, tensor } = this;
        const left = side === 'row';
        const count = left ? this.rows : this.columns;
        const from = left ? this.first : this.leftmost;
        const size = Math.min(this.pitch * 0.72, this.beside ? LABEL_SIZE : 16);
        context.textBaseline = 'middle';
        context.textAlign = left ? 'right' : 'left';
        for (let i = 0; i < count; i++) {
            const mine = token && token.side === side && token.index === i + from;
            if (token && token.side !== side) this.drawStrip(side, i, token);
            context.font = font(size, mine ? '700' : '');
            context.fillStyle = mine ? variable('--mark') : variable('--text');
            const text = shortened(tensor.label(side, i + from), 170, size);
            context.fillText(text, left ? this.leftRoom - 6 : this.x2 + this.strip + 6, this.y(i));
        }
    }

    // A box a head, as strong as what it gives to the token that is pointed at.
    drawStrip(side, i, token) {
        const { context, tensor } = this;
        const width = this.strip / this.heads.length;
        const x = side === 'row' ? this.leftRoom : this.x2;
        this.heads.forEach((index, order) => {
            const row = side === 'row' ? i + this.first : token.index;
            const column = side === 'row' ? token.index : i + this.leftmost;
            const value = tensor.at(index, row, column);
            if (!(value > 0)) return;
            const share = tonesOf(tensor, index)(row).share(value);
            context.globalAlpha = share;
            context.fillStyle = this.heads.length > 1 ? this.colourOf(order) : variable('--accent');
            const [top, height] = [this.y(i) - this.pitch * 0.42, this.pitch * 0.84];
            context.fillRect(x + order * width, top, width - 1, height);
        });
        context.globalAlpha = 1;
    }

    // What the token gives most, in words.
    read(token) {
        if (!token) return read();
        const { tensor } = this;
        const index = this.heads.length > 1 ? null : this.heads[0];
        const found = [];
        const count = token.side === 'row' ? tensor.columnCount : tensor.rowCount;
        for (const head of this.heads) {
            for (let i = 0; i < count; i++) {
                const [row, column] = token.side === 'row' ? [token.index, i] : [i, token.index];
                const value = tensor.at(head, row, column);
                if (value > 0) found.push({ head, other: i, value });
            }
        }
        found.sort((a, b) => b.value - a.value);
        const other = token.side === 'row' ? 'column' : 'row';
        const parts = found.slice(0, 3).map((one) => {
            const name = index === null ? ` (${tensor.headName(one.head)})` : '';
            return `${quoted(tensor.label(other, one.other))} ${brief(one.value)}${name}`;
        });
        const verb = token.side === 'row' ? 'looks at' : 'is looked at by';
        return read(quoted(tensor.label(token.side, token.index)), ` ${verb} `, parts.join(', '));
    }
}
