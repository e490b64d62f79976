// The exact numbers of a head as a table, for reading, screen readers and copying.

const TABLE_MOST = 60000; // cells; more make browsers slow

function drawTable(parent, tensor, index) {
    const left = firstColumn(tensor);
    const most = Math.floor(TABLE_MOST / (tensor.rowCount - firstShown(tensor)));
    const end = Math.min(tensor.columnCount, left + most);
    const wide = tableRegion(parent, `Numbers of ${tensor.name(index)}`);
    wide.append(tableOf(tensor, index, left, end));
    const caption = wide.firstChild.createCaption();
    const axes = `rows are ${tensor.rows}, columns ${tensor.columns}`;
    caption.textContent = `${tensor.name(index)}: ${axes}`;
    if (end < tensor.columnCount)
        caption.textContent += `; the first ${end - left} of ${tensor.columnCount} columns`;
}

function tableOf(tensor, index, left, end) {
    const table = element('table');
    const head = table.createTHead().insertRow();
    const exact = (axis, at) => tensor.labels(axis)?.[at] ?? String(at);
    head.append(headerCell('', 'col'));
    for (let column = left; column < end; column++)
        head.append(headerCell(exact('column', column), 'col'));
    const body = table.createTBody();
    for (let row = firstShown(tensor); row < tensor.rowCount; row++) {
        const line = body.insertRow();
        line.append(headerCell(exact('row', row), 'row'));
        for (let column = left; column < end; column++) {
            const value = tensor.at(index, row, column);
            line.insertCell().textContent = Number.isNaN(value) ? '' : tensor.text(value);
        }
    }
    return table;
}
