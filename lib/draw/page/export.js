// Export: the shown head as PNG or CSV, and the command that reproduces it.

// --- command lines -----------------------------------------------------------------------------

// A command on a text of the page: model, text or ids, attention options, then `words`. Weights of
// another program have files in place of a model.
function commandOf(sentence, command, words) {
    const ids = sentence.ids && !sentence.text;
    const text = ids ? ['--ids', sentence.ids.join(',')] : ['-s', sentence.text ?? sentence.title];
    const input = sentence.files || ['-m', sentence.model, ...text];
    const all = ['attn-cli', command, ...input, ...(sentence.command || []), ...words];
    return all.map(shellWord).join(' ');
}

// --- files -------------------------------------------------------------------------------------

// The matrix as drawn, with the title and the scale of the legend.
function pngOfView() {
    const canvases = [...byId('stage').querySelectorAll('canvas')];
    const origin = byId('stage').getBoundingClientRect();
    const boxes = canvases.map((canvas) => canvas.getBoundingClientRect());
    const [edge, head, pixels] = [16, 44, 2];
    const width = Math.max(...boxes.map((box) => box.right - origin.left)) + 2 * edge;
    const height = Math.max(...boxes.map((box) => box.bottom - origin.top)) + 2 * edge + head;
    const canvas = element('canvas', '', '', { width: pixels * width, height: pixels * height });
    const context = canvas.getContext('2d');
    context.scale(pixels, pixels);
    context.fillStyle = variable('--ground');
    context.fillRect(0, 0, width, height);
    context.fillStyle = variable('--text');
    context.font = font(15, '700');
    context.fillText(byId('head-title').textContent, edge, edge + 14);
    context.fillStyle = variable('--quiet');
    context.font = font(12);
    const scale = byId('legend').innerText.replace(/\s+/g, ' ');
    const legend = `${byId('title').textContent} · ${scale}`;
    context.fillText(shortened(legend, width - 2 * edge, 12), edge, edge + 32);
    canvases.forEach((one, at) => {
        const { left, top, width: across, height: down } = boxes[at];
        const [x, y] = [left - origin.left + edge, top - origin.top + edge + head];
        context.drawImage(one, x, y, across, down);
    });
    return new Promise((done) => canvas.toBlob(done, 'image/png'));
}

// A field by RFC 4180.
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

// The bytes of `run --format csv`; the corner cell says if the numbers are changes.
function headAsCsv(tensor, index) {
    const labels = { row: tensor.labels('row'), column: tensor.labels('column') };
    const name = (axis, at) => (labels[axis] ? `${at}:${labels[axis][at]}` : String(at));
    const ways = tensor.sentence.attention || {};
    const hidden = tensor.tensor === 'masked' && !ways.linear && !ways.renormalise ? '-inf' : '0';
    const columns = [...Array(tensor.columnCount).keys()];
    const corner = `${tensor.isDifference ? 'change ' : ''}${tensor.rows}\\${tensor.columns}`;
    const lines = [[corner, ...columns.map((at) => name('column', at))]];
    for (let row = 0; row < tensor.rowCount; row++)
        lines.push([
            name('row', row),
            ...[...tensor.row(index, row)].map((value) =>
                Number.isNaN(value) ? hidden : numberOfFiles(tensor.text(value)),
            ),
        ]);
    return `${lines.map((line) => line.map(csvField).join(',')).join('\n')}\n`;
}

// `run` with a tensor, its layer and a head.
function commandOfView(tensor, head = state.head) {
    const words = [];
    if (tensor.tensor !== 'weights') words.push('--show', tensor.tensor);
    if (tensor.layer !== null) words.push('--layer', String(tensor.layer));
    const { heads, kv_heads: shared, sentence } = tensor;
    const each = heads ? 1 : sentence.attention?.queries_of_a_key[tensor.layer];
    if (heads || shared) words.push('--head', String((heads || shared)[head] * each));
    if (look.hide_first) words.push('--hide-first');
    return commandOf(tensor.sentence, 'run', words);
}

function download(name, blob) {
    const link = element('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const EXPORTS = {
    png: pngOfView,
    csv: async () => new Blob([headAsCsv(...shownMatrix())], { type: 'text/csv' }),
};

function openExport() {
    if (live.stale) refreshLive();
    const ofMatrix = () => comparedTensors().map((one) => commandOfView(one));
    const lines = (shownScreen().commands ?? ofMatrix)().map(commandLine);
    byId('export-png').hidden = !views.matrix;
    byId('export-command').replaceChildren(...lines);
    const words = 'The change is the numbers of the second command minus those of the first:';
    const isChange = lines[1] && views.matrix;
    byId('export-words').textContent = isChange ? words : 'Command to reproduce this:';
    byId('export').showModal();
}

function listenToExport() {
    byId('export-button').addEventListener('click', openExport);
    for (const [kind, make] of Object.entries(EXPORTS))
        byId(`export-${kind}`).addEventListener('click', async () => {
            byId('export').close();
            const [tensor, head] = shownMatrix();
            const run = tensor.isDifference ? ' change' : runWord(tensor);
            const name = (tensor.name(head, tensor.headName(head)) + run).replaceAll(' ', '-');
            download(`${name}.${kind}`, await make());
        });
}
