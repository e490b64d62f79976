// Canvases, and texts on them.

const LABEL_SIZE = 14;

function font(size, weight = '') {
    return `${weight} ${size}px system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif`.trim();
}

const measure = document.createElement('canvas').getContext('2d');

function textWidth(text, size) {
    measure.font = font(size);
    return measure.measureText(text).width;
}

function shortened(text, width, size) {
    if (textWidth(text, size) <= width) return text;
    const letters = [...text];
    while (letters.length && textWidth(letters.join('') + '…', size) > width) letters.pop();
    return letters.join('') + '…';
}

// A canvas of so many points that is sharp on every screen; one that keys reach says what it is.
function sharpCanvas(width, height, className = '', words = '') {
    const reached = words ? { role: 'img', tabindex: 0, 'aria-label': words } : {};
    const canvas = element('canvas', '', className, reached);
    const pixels = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * pixels);
    canvas.height = Math.round(height * pixels);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    context.scale(pixels, pixels);
    return [canvas, context];
}

function labelRoom(tensor, axis, from, most) {
    const count = axis === 'row' ? tensor.rowCount : tensor.columnCount;
    let room = 0;
    for (let i = from; i < count && room < most; i++)
        room = Math.max(room, textWidth(tensor.label(axis, i), LABEL_SIZE));
    return Math.ceil(Math.min(room, most)) + 8;
}

// There is nothing here: not a small number.
function hatch(context, box) {
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.fillStyle = variable('--nothing');
    context.fill();
    context.clip();
    context.strokeStyle = variable('--nothing-line');
    context.beginPath();
    for (let x = box.x - box.height; x < box.x + box.width; x += 7) {
        context.moveTo(x, box.y + box.height);
        context.lineTo(x + box.height, box.y);
    }
    context.stroke();
    context.restore();
}
