// A three-dimensional embedding as points in space; dragging rotates it.

class SpaceView {
    constructor(parent, tensor, index, room) {
        Object.assign(this, { tensor, index });
        this.width = Math.max(room, 280);
        this.height = 300;
        this.turned = [0.7, 0.35];
        const words = `${tensor.name(index)}: tokens in space; drag or use arrow keys to turn`;
        [this.canvas, this.context] = sharpCanvas(this.width, this.height, 'space', {
            ...{ role: 'application', tabindex: 0, 'aria-label': words },
        });
        parent.append(this.canvas);
        this.centre();
        this.listen();
        this.draw();
    }

    // Scale the points into a ball of radius 1 around their mean.
    centre() {
        const data = this.tensor.matrix(this.index);
        const places = Array.from({ length: this.tensor.rowCount }, (_, row) => [
            ...data.subarray(3 * row, 3 * row + 3),
        ]);
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
            }
        });
        for (const end of ['pointerup', 'pointercancel'])
            this.canvas.addEventListener(end, () => (from = null));
        this.canvas.addEventListener('keydown', (event) => {
            const step = arrowOf(event);
            if (step) this.turn(0.12 * step[1], 0.12 * step[0]);
        });
    }

    turn(across, down) {
        this.turned[0] += across;
        this.turned[1] = clamp(this.turned[1] + down, -Math.PI / 2, Math.PI / 2);
        this.draw();
    }

    // Position on the screen, and depth.
    project([x, y, z]) {
        const [a, b] = this.turned;
        const x1 = x * Math.cos(a) + z * Math.sin(a);
        const z1 = z * Math.cos(a) - x * Math.sin(a);
        const y1 = y * Math.cos(b) - z1 * Math.sin(b);
        const z2 = z1 * Math.cos(b) + y * Math.sin(b);
        const near = 3 / (3 - z2);
        const radius = Math.min(this.width, this.height) * 0.4;
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

    // Near points first; leave out a name that would overlap another.
    drawNames() {
        const { context, tensor } = this;
        const taken = [];
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        for (const point of [...this.points].reverse()) {
            const name = tensor.label('row', point.i);
            const size = 12.5 * point.near;
            const [left, top, bottom] = [point.x + 8, point.y - size / 2, point.y + size / 2];
            const box = { left, top, bottom, right: left + textWidth(name, size) };
            const apart = (one, other) => one.right <= other.left || one.bottom <= other.top;
            if (taken.some((other) => !apart(box, other) && !apart(other, box))) continue;
            taken.push(box);
            context.font = font(size);
            context.fillStyle = variable('--text');
            context.fillText(name, left, point.y);
        }
    }

    drawPoint(point) {
        const { context } = this;
        context.globalAlpha = clamp(point.near - 0.45, 0.35, 1);
        context.fillStyle = variable('--bar');
        context.beginPath();
        context.arc(point.x, point.y, 4.5 * point.near, 0, 7);
        context.fill();
        context.globalAlpha = 1;
    }

    drawAxes() {
        const { context } = this;
        const origin = this.project([0, 0, 0]);
        context.strokeStyle = variable('--edge');
        context.fillStyle = variable('--quiet');
        context.font = font(11);
        for (let k = 0; k < 3; k++) {
            const end = this.project([0, 1, 2].map((i) => (i === k ? 1 : 0)));
            context.beginPath();
            context.moveTo(origin.x, origin.y);
            context.lineTo(end.x, end.y);
            context.stroke();
            context.fillText(String(k), end.x + 4, end.y);
        }
    }
}
