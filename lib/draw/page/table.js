// The same numbers as a table, for who cannot see colours, for screen readers and for copying.

const TABLE_MOST = 60000; // cells: beyond, browsers crawl
const PAPER_COLUMNS = 6; // as many as fit beside each other, the rest below

function drawTable(parent, tensor, index) {
    const left = firstColumn(tensor);
    const most = Math.floor(TABLE_MOST / (tensor.rowCount - firstShown(tensor)));
    const end = Math.min(tensor.columnCount, left + most);
    const together = state.printing ? PAPER_COLUMNS : end - left;
    const wide = tableRegion(parent, tensor.name(index));
    for (let column = left; column < end; column += together)
        wide.append(tableOf(tensor, index, column, Math.min(column + together, end)));
    const caption = wide.firstChild.createCaption();
    const name = tensor.name(index);
    caption.textContent = `${name}: rows are ${tensor.rows}, columns ${tensor.columns}`;
    if (end < tensor.columnCount)
        caption.textContent += `; the first ${end - left} of ${tensor.columnCount} columns`;
}

// Where a table scrolls, by keys, too.
function tableRegion(parent, name) {
    const region = { role: 'region', tabindex: 0, 'aria-label': name };
    const wide = element('div', '', 'wide', region);
    parent.append(wide);
    return wide;
}

function tableOf(tensor, index, left, end) {
    const table = element('table');
    const head = table.createTHead().insertRow();
    head.append(headerCell('', 'col'));
    for (let column = left; column < end; column++)
        head.append(headerCell(tensor.label('column', column), 'col'));
    const body = table.createTBody();
    const data = tensor.matrix(index);
    for (let row = firstShown(tensor); row < tensor.rowCount; row++) {
        const line = body.insertRow();
        line.append(headerCell(tensor.label('row', row), 'row'));
        for (let column = left; column < end; column++) {
            const value = data[row * tensor.columnCount + column];
            line.insertCell().textContent = Number.isNaN(value) ? '' : tensor.text(value);
        }
    }
    return table;
}

function headerCell(text, scope) {
    return element('th', text, '', { scope });
}
