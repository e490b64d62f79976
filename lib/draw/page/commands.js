// Command lines that make what is shown, as a shell takes them.

function shellWord(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// Of a text of the page: its model, text or ids, and the way it attends, then other words.
function commandOf(sentence, command, words) {
    const ids = sentence.ids && !sentence.text;
    return [
        'attn-cli',
        command,
        ...['-m', sentence.model],
        ...(ids ? ['--ids', sentence.ids.join(',')] : ['-s', sentence.text ?? sentence.title]),
        ...(sentence.command || []),
        ...words,
    ]
        .map(shellWord)
        .join(' ');
}

// A line to be copied.
function commandLine(text) {
    const line = element('p', '', 'command');
    const copy = buttonFor(() => copyText(text, copy), 'Copy');
    line.append(element('code', text, '', { tabindex: 0 }), copy);
    return line;
}

// The clipboard is there for pages from files, too; where it is refused the old way serves.
async function copyText(text, button) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const field = element('textarea');
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand('copy');
        field.remove();
    }
    button.textContent = 'Copied';
}
