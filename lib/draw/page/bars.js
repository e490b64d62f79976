// The numbers that are farthest from 0, of all layers and heads of a kind: a name, a bar, a number.

const BARS_MOST = 10; // as on pictures

// A number says what of; the parts of a layer that have numbers are its heads.
function placeName(tensor, axis, index) {
    const label = tensor.label(axis, index);
    const name = tensor[`${axis}s`];
    if (name === 'key') return `from ${label}`;
    return /^[0-9]+$/.test(label) ? `${name} ${label}` : label;
}

function strongestOf(tensors) {
    const cells = [];
    for (const tensor of tensors)
        for (let head = 0; head < tensor.shape[0]; head++)
            tensor.matrix(head).forEach((value, at) => {
                const last = cells[BARS_MOST - 1];
                const row = Math.floor(at / tensor.columnCount);
                const column = at % tensor.columnCount;
                if (row < firstShown(tensor) || column < firstColumn(tensor)) return;
                if (!Number.isFinite(value) || value === 0) return;
                if (last && Math.abs(last.value) >= Math.abs(value)) return;
                cells.push({ tensor, head, row, column, value });
                cells.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
                cells.length = Math.min(cells.length, BARS_MOST);
            });
    return cells;
}

function cellName({ tensor, head, row, column }) {
    const names = [placeName(tensor, 'row', row), placeName(tensor, 'column', column)];
    return [tensor.layerName(), tensor.headName(head), ...names].filter(Boolean).join(' ');
}

function drawBars(parent, tensors) {
    const cells = strongestOf(tensors);
    const below = Math.max(0, ...cells.map((cell) => -cell.value));
    const whole = below + Math.max(0, ...cells.map((cell) => cell.value));
    const ramp = rampOf(tensors[0]);
    const title = `${tensors[0].tensor} · the ${cells.length} farthest from 0`;
    const table = element('table', '', 'bars');
    table.createCaption().textContent = title;
    const body = table.createTBody();
    for (const cell of cells) {
        const line = body.insertRow();
        const bar = element('div', '', 'bar');
        bar.style.width = `${(100 * Math.abs(cell.value)) / whole}%`;
        bar.style.marginLeft = `${(100 * (below + Math.min(0, cell.value))) / whole}%`;
        bar.style.background = css(ramp[Math.floor((ramp.length * (cell.value > 0 ? 5 : 1)) / 6)]);
        line.append(headerCell(cellName(cell), 'row'));
        line.insertCell().textContent = cell.tensor.text(cell.value);
        line.insertCell().append(bar);
    }
    tableRegion(parent, title).append(table);
}
