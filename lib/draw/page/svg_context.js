// A canvas's context that keeps what is drawn as SVG: of its methods those that the views call.

const SVG_STATE = [
    ...['matrix', 'clips', 'fillStyle', 'strokeStyle', 'lineWidth', 'font'],
    ...['globalAlpha', 'textAlign', 'textBaseline'],
];

class SvgContext {
    constructor(canvas) {
        this.canvas = canvas;
        this.items = [];
        this.stack = [];
        this.clips = [];
        this.matrix = new DOMMatrix();
        Object.assign(this, { fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, font: '10px' });
        Object.assign(this, { globalAlpha: 1, textAlign: 'start', textBaseline: 'alphabetic' });
        this.path = '';
    }

    save() {
        this.stack.push(Object.fromEntries(SVG_STATE.map((name) => [name, this[name]])));
    }

    restore() {
        Object.assign(this, this.stack.pop());
    }

    scale() {} // that of the screen: SVG has points

    translate(x, y) {
        this.matrix = this.matrix.translate(x, y);
    }

    rotate(angle) {
        this.matrix = this.matrix.rotate((angle * 180) / Math.PI);
    }

    put(name, attributes, text = '') {
        const { a, b, c, d, e, f } = this.matrix;
        const all = { ...attributes };
        if (!this.matrix.isIdentity) all.transform = `matrix(${[a, b, c, d, e, f].map(svgNumber)})`;
        if (this.globalAlpha < 1) all.opacity = svgNumber(this.globalAlpha);
        const item = svgElement(name, all, text);
        this.items.push(
            this.clips.reduceRight(
                (inner, clip) => `<g clip-path="url(#${clip})">${inner}</g>`,
                item,
            ),
        );
    }

    // All of it is only cleared to be drawn anew.
    clearRect() {
        this.items = this.items.filter((item) => item.startsWith('<clipPath'));
    }

    fillRect(x, y, width, height) {
        this.put('rect', { ...svgBox(x, y, width, height), fill: this.fillStyle });
    }

    strokeRect(x, y, width, height) {
        this.put('rect', { ...svgBox(x, y, width, height), fill: 'none', ...this.pen() });
    }

    pen() {
        return { stroke: this.strokeStyle, 'stroke-width': svgNumber(this.lineWidth) };
    }

    beginPath() {
        this.path = '';
    }

    moveTo(x, y) {
        this.path += `M${svgNumber(x)} ${svgNumber(y)}`;
    }

    lineTo(x, y) {
        this.path += `L${svgNumber(x)} ${svgNumber(y)}`;
    }

    bezierCurveTo(...places) {
        this.path += `C${places.map(svgNumber).join(' ')}`;
    }

    rect(x, y, width, height) {
        this.path += `M${svgNumber(x)} ${svgNumber(y)}h${svgNumber(width)}v${svgNumber(height)}`;
        this.path += `h${svgNumber(-width)}z`;
    }

    // A whole circle: views draw no other.
    arc(x, y, radius) {
        const r = svgNumber(radius);
        this.path += `M${svgNumber(x - radius)} ${svgNumber(y)}`;
        this.path += `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    }

    fill() {
        this.put('path', { d: this.path, fill: this.fillStyle });
    }

    stroke() {
        this.put('path', { d: this.path, fill: 'none', ...this.pen() });
    }

    clip() {
        const id = `clip${SvgContext.clips++}`;
        this.items.push(`<clipPath id="${id}">${svgElement('path', { d: this.path })}</clipPath>`);
        this.clips = [...this.clips, id];
    }

    fillText(text, x, y) {
        const anchors = { center: 'middle', right: 'end' };
        const size = parseFloat(/([\d.]+)px/.exec(this.font)[1]);
        const down = this.textBaseline === 'middle' ? 0.36 * size : 0;
        this.put(
            'text',
            {
                ...{ x: svgNumber(x), y: svgNumber(y + down), fill: this.fillStyle },
                'text-anchor': anchors[this.textAlign] || 'start',
                'font-size': size,
                'font-weight':
                    /^\d+/.exec(this.font)?.[0].length === 3 ? this.font.slice(0, 3) : 400,
            },
            text,
        );
    }

    // Cells, each a rectangle.
    drawImage(image, x, y, width, height) {
        const pixels = image.getContext('2d').getImageData(0, 0, image.width, image.height).data;
        const [w, h] = [width / image.width, height / image.height];
        for (let i = 0; i < image.width * image.height; i++) {
            if (!pixels[4 * i + 3]) continue;
            const [red, green, blue] = pixels.slice(4 * i, 4 * i + 3);
            const [column, row] = [i % image.width, Math.floor(i / image.width)];
            this.put('rect', {
                ...svgBox(x + column * w, y + row * h, w, h),
                fill: `rgb(${red},${green},${blue})`,
                'shape-rendering': 'crispEdges',
            });
        }
    }
}

SvgContext.clips = 0;

function svgNumber(value) {
    return Number(value.toFixed(2));
}

function svgBox(x, y, width, height) {
    const [left, top, across, down] = [x, y, width, height].map(svgNumber);
    return { x: left, y: top, width: across, height: down };
}

function svgEscape(text) {
    const marks = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
    // eslint-disable-next-line no-control-regex
    return String(text)
        .replace(/[&<>"]/g, (mark) => marks[mark])
        .replace(/[\0-\x08\x0b-\x1f]/g, '');
}

function svgElement(name, attributes, text = '') {
    const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${svgEscape(value)}"`);
    return `<${name}${words.join('')}${text === '' ? '/>' : `>${svgEscape(text)}</${name}>`}`;
}
