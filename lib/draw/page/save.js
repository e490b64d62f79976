// What is shown, to take away: as PNG, CSV, or as the command line that makes it.

// A copy of the stage in which canvases are images, and nothing is to be chosen.
function copyOfStage(stage) {
    const copy = stage.cloneNode(true);
    const canvases = [...copy.querySelectorAll('canvas')];
    [...stage.querySelectorAll('canvas')].forEach((canvas, at) => {
        const words = { src: canvas.toDataURL(), style: canvas.style.cssText };
        canvases[at].replaceWith(element('img', '', canvas.className, words));
    });
    for (const field of copy.querySelectorAll('.choices, select, input')) field.remove();
    return copy;
}

// How far what the stage holds reaches, also where it scrolls.
function extentOfStage(stage) {
    const origin = stage.getBoundingClientRect();
    const parts = [stage, ...stage.querySelectorAll('.plot, .wide')].map((part) => {
        const { left, top } = part.getBoundingClientRect();
        return [left - origin.left + part.scrollWidth, top - origin.top + part.scrollHeight];
    });
    return [0, 1].map((at) => Math.ceil(Math.max(...parts.map((part) => part[at])) + 8));
}

// The stage at twice its size: an SVG holds a copy of it with its style, and an image draws that.
async function pngOfStage() {
    const stage = byId('stage');
    const [width, height] = extentOfStage(stage);
    const body = document.createElement('body');
    body.className = 'taken';
    body.append(copyOfStage(stage));
    const { theme } = document.documentElement.dataset;
    const style = document.querySelector('style').textContent;
    const svg =
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
        `data-theme="${theme}"><style><![CDATA[${style}]]></style>` +
        `<foreignObject width="${width}" height="${height}">` +
        `${new XMLSerializer().serializeToString(body)}</foreignObject></svg>`;
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = element('canvas', '', '', { width: 2 * width, height: 2 * height });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, 'image/png'));
}

// A field as RFC 4180 has it.
function csvField(text) {
    return /[,"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A number as lib/base/num.c writes it: from 1e-5 to below 1e9 plain.
function numberOfFiles(text) {
    if (text === '-inf') return text;
    const [digits, power] = Number(text).toExponential().split('e');
    const size = Math.abs(Number(power));
    if (Number(power) >= -5 && Number(power) < 9) return text;
    return `${digits}e${power[0]}${String(size).padStart(2, '0')}`;
}

// The head that is shown, as `run --format csv` writes it.
function headAsCsv(tensor, index) {
    const name = (axis, at) =>
        tensor.labels(axis) ? `${at}:${tensor.label(axis, at)}` : String(at);
    const ways = tensor.sentence.attention || {};
    const hidden = tensor.tensor === 'masked' && !ways.linear && !ways.renormalise ? '-inf' : '0';
    const data = tensor.matrix(index);
    const columns = [...Array(tensor.columnCount).keys()];
    const lines = [
        [`${tensor.rows}\\${tensor.columns}`, ...columns.map((at) => name('column', at))],
    ];
    for (let row = 0; row < tensor.rowCount; row++)
        lines.push([
            name('row', row),
            ...columns.map((column) => {
                const value = data[row * tensor.columnCount + column];
                return Number.isNaN(value) ? hidden : numberOfFiles(tensor.text(value));
            }),
        ]);
    return `${lines.map((line) => line.map(csvField).join(',')).join('\n')}\n`;
}

// The picture of the command line that is most like the view, or the numbers.
function commandOfView() {
    const tensor = shownTensor();
    const heads = shownHeads();
    const words = ['--show', tensor.tensor];
    const ofAll = view().ofAll;
    if (tensor.layer !== null && !ofAll) words.push('--layer', String(tensor.layer));
    if (heads.includes('mean')) words.push('--mean', 'heads');
    else if (tensor.heads && !ofAll)
        words.push('--head', heads.map((head) => tensor.heads[head]).join(','));
    if (tensor.layer === null && tensor.mean_of.includes('layers')) words.push('--mean', 'layers');
    const drawn = { lines: heads.length > 1 ? 'overlay' : 'lines', model: 'matrix' };
    if (state.view === 'next') return commandOf(current(), 'score', ['--top', '10']);
    if (state.view === 'lens') return commandOf(current(), 'lens', ['--show', 'best']);
    if (state.view === 'walk')
        return commandOf(current(), 'page', [
            ...['--show', current().kinds.join(','), '-o', 'page.html'],
        ]);
    if (state.view === 'table') return commandOf(current(), 'run', [...words, '--format', 'csv']);
    words.push('--view', drawn[state.view] || 'matrix');
    if (state.scale !== 'linear') words.push('--color-scale', state.scale);
    if (state.range === 'bounds') words.push('--range', `${look.bounds.low}:${look.bounds.high}`);
    else if (state.range !== 'all') words.push('--range', state.range);
    if (state.palette) words.push('--palette', state.palette);
    if (state.hideFirst) words.push('--hide-first');
    return commandOf(current(), 'run', [...words, '-o', 'picture.svg']);
}

function stemOf() {
    const tensor = shownTensor();
    const head = state.head === 'mean' ? 'mean' : tensor.heads && `h${tensor.heads[state.head]}`;
    return [tensor.tensor, tensor.layer === null ? '' : `l${tensor.layer}`, head || '', state.view]
        .filter(Boolean)
        .join('.');
}

function download(name, blob) {
    const link = element('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const SAVES = {
    png: pngOfStage,
    csv: async () => new Blob([headAsCsv(shownTensor(), state.head)], { type: 'text/csv' }),
};

function openSave() {
    byId('save-command').replaceChildren(commandLine(commandOfView()));
    byId('save').showModal();
}

function listenToSave() {
    byId('take').addEventListener('click', openSave);
    for (const [kind, make] of Object.entries(SAVES))
        byId(`save-${kind}`).addEventListener('click', async () => {
            byId('save').close(); // and the page, with what it shows, is there again
            download(`${stemOf()}.${kind}`, await make());
        });
}
