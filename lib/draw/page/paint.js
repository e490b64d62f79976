// Canvases and texts on them.

const TEXT_SIZE = 13;
const FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

function font(size, weight = '') {
    return `${weight} ${size}px ${FONT}`.trim();
}

const ruler = document.createElement('canvas').getContext('2d');

// As wide as in bold, which any label can become.
const textWidth = (text, size) => once(ruler, `${size} ${text}`, () => {
    ruler.font = font(size, '700');
    return ruler.measureText(text).width;
});

function shortened(text, width, size) {
    if (textWidth(text, size) <= width) return text;
    const letters = [...text];
    while (letters.length && textWidth(`${letters.join('')}…`, size) > width) letters.pop();
    return `${letters.join('')}…`;
}

// A canvas of a size in CSS pixels that is sharp on every screen.
function sharpCanvas(width, height, className = '', attributes = {}) {
    const canvas = element('canvas', '', className, attributes);
    const pixels = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * pixels);
    canvas.height = Math.round(height * pixels);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    context.scale(pixels, pixels);
    context.imageSmoothingEnabled = false; // cells stay sharp
    return [canvas, context];
}

// Masked cells.
function hatch(context, box) {
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.fillStyle = variable('--masked');
    context.fill();
    context.clip();
    context.strokeStyle = variable('--hatch');
    context.lineWidth = 1;
    context.beginPath();
    for (let x = box.x - box.height; x < box.x + box.width; x += 7) {
        context.moveTo(x, box.y + box.height);
        context.lineTo(x + box.height, box.y);
    }
    context.stroke();
    context.restore();
}
