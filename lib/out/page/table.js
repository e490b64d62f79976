// The same numbers as a table, for who cannot see colours, for screen readers and for copying.

const TABLE_MOST = 60000; // cells: beyond, browsers crawl

function drawTable(parent, tensor, index) {
    const first = firstShown(tensor);
    const left = firstColumn(tensor);
    const rows = tensor.rowCount - first;
    const columns = Math.min(tensor.columnCount - left, Math.floor(TABLE_MOST / rows));
    const wide = document.createElement('div');
    wide.className = 'wide';
    wide.tabIndex = 0;
    wide.setAttribute('role', 'region');
    wide.setAttribute('aria-label', tensor.name(index));
    const table = document.createElement('table');
    const caption = table.createCaption();
    const name = tensor.name(index);
    caption.textContent = `${name}: rows are ${tensor.rows}, columns ${tensor.columns}`;
    if (left + columns < tensor.columnCount)
        caption.textContent += `; the first ${columns} of ${tensor.columnCount} columns`;
    const head = table.createTHead().insertRow();
    head.append(headerCell('', 'col'));
    for (let column = left; column < left + columns; column++)
        head.append(headerCell(tensor.label('column', column), 'col'));
    const body = table.createTBody();
    const data = tensor.matrix(index);
    for (let row = first; row < tensor.rowCount; row++) {
        const line = body.insertRow();
        line.append(headerCell(tensor.label('row', row), 'row'));
        for (let column = left; column < left + columns; column++) {
            const value = data[row * tensor.columnCount + column];
            line.insertCell().textContent = Number.isNaN(value) ? '' : tensor.text(value);
        }
    }
    wide.append(table);
    parent.append(wide);
}

function headerCell(text, scope) {
    const cell = document.createElement('th');
    cell.scope = scope;
    cell.textContent = text;
    return cell;
}
