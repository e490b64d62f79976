// Tokens in space: the first three dimensions of their vectors, or their three principal
// components, to be turned.

class SpaceView {
    constructor(parent, tensor, index, room) {
        Object.assign(this, { tensor, index });
        this.width = Math.max(room, 300);
        this.height = clamp(window.innerHeight - 330, 320, 640);
        this.drawChoices(parent);
        const found = placesOf(tensor, index, state.axes);
        this.shares = found.shares.map((share) => `${(100 * share).toFixed(1)} %`);
        const shares = this.shares.length
            ? `; of the spread the axes hold ${this.shares.join(', ')}`
            : '';
        const words =
            `${tensor.name(index)}: tokens in space; drag or use ` +
            `arrow keys to turn, + and - to come closer${shares}`;
        [this.canvas, this.context] = sharpCanvas(this.width, this.height, 'space', words);
        parent.append(this.canvas);
        this.centre(found.places);
        this.listen();
        this.draw();
    }

    drawChoices(parent) {
        const ways = { principal: 'principal components', first: 'first three dimensions' };
        const choices = element('div', '', 'choices');
        const choose = (axes) => set({ axes });
        choices.append(...radios('axes', ways, state.axes, choose));
        parent.append(choices);
    }

    // Into a ball of radius 1 around the middle.
    centre(places) {
        const middle = [0, 1, 2].map(
            (k) => places.reduce((sum, place) => sum + place[k], 0) / places.length,
        );
        const moved = places.map((place) => place.map((value, k) => value - middle[k]));
        const far = Math.max(...moved.map((place) => Math.hypot(...place))) || 1;
        this.places = moved.map((place) => place.map((value) => value / far));
    }

    listen() {
        let from = null;
        this.canvas.addEventListener('pointerdown', (event) => {
            from = [event.clientX, event.clientY];
            this.canvas.setPointerCapture(event.pointerId);
        });
        this.canvas.addEventListener('pointermove', (event) => {
            if (from) {
                this.turn((event.clientX - from[0]) / 150, (event.clientY - from[1]) / 150);
                from = [event.clientX, event.clientY];
            } else {
                this.pointAt(event.offsetX, event.offsetY);
            }
        });
        for (const end of ['pointerup', 'pointercancel'])
            this.canvas.addEventListener(end, () => {
                from = null;
            });
        this.canvas.addEventListener(
            'wheel',
            (event) => {
                event.preventDefault();
                this.zoom(Math.exp(-event.deltaY / 600));
            },
            { passive: false },
        );
        this.canvas.addEventListener('keydown', (event) => {
            const zooms = { '+': 1.15, '-': 1 / 1.15 };
            const step = arrowOf(event);
            if (step) this.turn(0.12 * step[1], 0.12 * step[0]);
            if (!zooms[event.key]) return;
            this.zoom(zooms[event.key]);
            event.preventDefault();
            event.stopPropagation();
        });
    }

    turn(across, down) {
        state.turned[0] += across;
        state.turned[1] = clamp(state.turned[1] + down, -Math.PI / 2, Math.PI / 2);
        this.draw();
    }

    zoom(factor) {
        state.zoom = clamp(state.zoom * factor, 0.3, 8);
        this.draw();
    }

    // On the screen, and how near.
    project([x, y, z]) {
        const [a, b] = state.turned;
        const x1 = x * Math.cos(a) + z * Math.sin(a);
        const z1 = z * Math.cos(a) - x * Math.sin(a);
        const y1 = y * Math.cos(b) - z1 * Math.sin(b);
        const z2 = z1 * Math.cos(b) + y * Math.sin(b);
        const near = 3 / (3 - z2);
        const radius = Math.min(this.width, this.height) * 0.4 * state.zoom;
        return {
            x: this.width / 2 + x1 * near * radius,
            y: this.height / 2 - y1 * near * radius,
            near,
        };
    }

    draw() {
        const { context } = this;
        context.clearRect(0, 0, this.width, this.height);
        this.drawAxes();
        this.points = this.places
            .map((place, i) => ({ ...this.project(place), i }))
            .sort((a, b) => a.near - b.near);
        for (const point of this.points) this.drawPoint(point);
        this.drawNames();
    }

    shade(point) {
        return clamp(point.near - 0.45, 0.35, 1);
    }

    // Near ones first; a name that would lie on another is left out.
    drawNames() {
        const { context, tensor } = this;
        const taken = [];
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        for (const point of [...this.points].reverse()) {
            const mine = this.pointed === point.i;
            const name = tensor.label('row', point.i + firstShown(tensor));
            const size = 12.5 * point.near;
            const [left, top, bottom] = [point.x + 8, point.y - size / 2, point.y + size / 2];
            const box = { left, top, bottom, right: left + textWidth(name, size) };
            const apart = (one, other) => one.right <= other.left || one.bottom <= other.top;
            const covered = taken.some((other) => !apart(box, other) && !apart(other, box));
            if (covered && !mine) continue;
            taken.push(box);
            context.globalAlpha = mine ? 1 : this.shade(point);
            context.font = font(size, mine ? '700' : '');
            context.fillStyle = mine ? variable('--mark') : variable('--text');
            context.fillText(name, left, point.y);
        }
        context.globalAlpha = 1;
    }

    drawPoint(point) {
        const { context, tensor } = this;
        const row = point.i + firstShown(tensor);
        const mine = this.pointed === point.i;
        const share = tensor.rowCount > 1 ? row / (tensor.rowCount - 1) : 0;
        context.globalAlpha = this.shade(point);
        context.fillStyle = mine ? variable('--mark') : css(this.placeColour(share));
        context.beginPath();
        context.arc(point.x, point.y, 4.5 * point.near, 0, 7);
        context.fill();
        context.globalAlpha = 1;
    }

    // From the first token to the last, so that the way of the text can be followed.
    placeColour(share) {
        const first = isDark() ? [121, 182, 234] : [20, 70, 140];
        const last = isDark() ? [255, 176, 102] : [214, 95, 0];
        return first.map((from, k) => Math.round(from + share * (last[k] - from)));
    }

    drawAxes() {
        const { context } = this;
        const origin = this.project([0, 0, 0]);
        const names = this.shares.length
            ? this.shares.map((share, k) => `${k + 1}: ${share}`)
            : ['0', '1', '2'];
        context.strokeStyle = variable('--edge');
        context.fillStyle = variable('--quiet');
        context.font = font(11);
        for (let k = 0; k < names.length; k++) {
            const end = this.project([0, 1, 2].map((i) => (i === k ? 1 : 0)));
            context.beginPath();
            context.moveTo(origin.x, origin.y);
            context.lineTo(end.x, end.y);
            context.stroke();
            context.fillText(names[k], end.x + 4, end.y);
        }
    }

    pointAt(x, y) {
        const near = this.points
            .filter((point) => Math.hypot(point.x - x, point.y - y) < 14)
            .sort((a, b) => b.near - a.near)[0];
        const found = near ? near.i : undefined;
        if (found === this.pointed) return;
        this.pointed = found;
        this.draw();
        if (!near) {
            read();
            return;
        }
        const { tensor } = this;
        const row = near.i + firstShown(tensor);
        const data = tensor.matrix(this.index);
        const numbers = [...data.subarray(row * tensor.columnCount, row * tensor.columnCount + 6)]
            .map((value) => tensor.text(value))
            .join(', ');
        const more = tensor.columnCount > 6 ? ', …' : '';
        read(`${row}: ${tensor.label('row', row)}`, ` (${numbers}${more})`);
    }
}
