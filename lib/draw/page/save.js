// What is shown, to take away: as SVG, PNG, CSV, or as the command line that makes it.

// The stage as SVG: canvases by what was drawn on them, all else by where it stands.
function stageAsSvg() {
    const stage = byId('stage');
    state.recording = true;
    document.body.classList.add('recording');
    drawStage();
    const origin = stage.getBoundingClientRect();
    const shapes = [];
    const extent = { right: 0, bottom: 0 };
    const place = (box) => {
        extent.right = Math.max(extent.right, box.right - origin.left);
        extent.bottom = Math.max(extent.bottom, box.bottom - origin.top);
        return [svgNumber(box.left - origin.left), svgNumber(box.top - origin.top)];
    };
    shapesOf(stage, place, shapes);
    state.recording = false;
    document.body.classList.remove('recording');
    drawStage();
    const size = [extent.right + 8, extent.bottom + 8].map(Math.ceil);
    return [
        `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" ` +
            `viewBox="0 0 ${size[0]} ${size[1]}" ` +
            'font-family="system-ui, Helvetica, Arial, sans-serif">',
        svgElement('title', {}, `${current().model}: ${current().title}`),
        svgElement('rect', { width: '100%', height: '100%', fill: variable('--ground') }),
        ...shapes,
        '</svg>',
        '',
    ].join('\n');
}

function shapesOf(element, place, shapes) {
    if (element.matches('.choices, select, input') || element.hidden) return;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (element.recorder) {
        const [x, y] = place(box);
        const items = element.recorder.items.join('\n');
        if (items) shapes.push(`<g transform="translate(${x} ${y})">\n${items}\n</g>`);
        return;
    }
    const [edge, ground] = [style.borderTopWidth !== '0px', style.backgroundColor];
    if (element.id !== 'stage' && box.width && (edge || ground !== 'rgba(0, 0, 0, 0)')) {
        const [x, y] = place(box);
        shapes.push(
            svgElement('rect', {
                ...svgBox(x, y, box.width, box.height),
                fill: ground === 'rgba(0, 0, 0, 0)' ? 'none' : ground,
                ...(edge ? { stroke: style.borderTopColor } : {}),
                opacity: style.opacity,
            }),
        );
    }
    for (const child of element.childNodes) {
        if (child.nodeType === Node.ELEMENT_NODE) shapesOf(child, place, shapes);
        else if (child.nodeType === Node.TEXT_NODE) textShapes(child, style, place, shapes);
    }
}

// A word at a time: lines may break between them.
function textShapes(node, style, place, shapes) {
    const range = document.createRange();
    for (const word of node.data.matchAll(/\S+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const box = range.getBoundingClientRect();
        if (!box.width) continue;
        const [x, y] = place(box);
        const size = parseFloat(style.fontSize);
        shapes.push(
            svgElement(
                'text',
                {
                    ...{ x, y: svgNumber(y + (box.height + 0.7 * size) / 2), fill: style.color },
                    'font-size': size,
                    'font-weight': style.fontWeight,
                },
                word[0],
            ),
        );
    }
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
    const drawn = { lines: heads.length > 1 ? 'overlay' : 'lines', bars: 'bars', model: 'matrix' };
    if (state.view === 'next') return commandOf(current(), 'score', ['--top-k', '10']);
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

async function pngOf(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = element('canvas');
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, 'image/png'));
}

const SAVES = {
    svg: async () => new Blob([stageAsSvg()], { type: 'image/svg+xml' }),
    png: () => pngOf(stageAsSvg()),
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
