// Pages of --format html in headless Chromium: what they show is what --format json says, fields and
// keys do what they are there for, and nothing leaves the page.
//
//     MODULES=FOLDER node page.mjs ATTN_CLI CHROMIUM
//
// FOLDER holds node_modules with playwright-core; see run.sh.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import {
    LIFE,
    ODD,
    VIEWS,
    attn,
    boxOf,
    browser,
    causal,
    counts,
    json,
    open,
    plot,
    readMatrix,
    readTable,
    readout,
    run,
    same,
    scratch,
    test,
    withPage,
    wordModel,
    write,
    writePage,
    yes,
} from './harness.mjs';

// --- numbers ---------------------------------------------------------------------------------------

const tinyPage = write(
    '-s',
    LIFE,
    '-s',
    'Life is Life',
    '--show',
    'embedding,weights,masked,context',
);
const tiny = json('-s', LIFE, '-s', 'Life is Life', '--show', 'embedding,weights,masked,context');
const shown = (token) => token.text.replaceAll(' ', '␣');

await test('what is pointed at is what JSON says', () =>
    withPage(tinyPage, async (page) => {
        const found = await readMatrix(page);
        const weights = tiny[0].tensors['h.0.weights'][0];
        weights.forEach((row, r) =>
            row.forEach((value, c) => {
                const expected = c > r ? 'hidden' : String(value);
                same(expected, found.get(`${r} ${c}`), `row ${r}, column ${c}`);
            }),
        );
        same(49, found.size);
    }));

await test('every head of every layer is a table of the same numbers', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-table');
        for (const layer of [0, 1]) {
            await page.selectOption('#layer', String(layer));
            for (const head of [0, 1, 2, 3]) {
                await page.click(`.head[data-head="${head}"]`);
                same(causal(tiny[0].tensors[`h.${layer}.weights`][head]), await readTable(page));
            }
        }
        const headings = await page.$$eval('thead th', (cells) => cells.map((c) => c.textContent));
        same(['', ...tiny[0].tokens.map(shown)], headings);
    }));

await test('the mean is that of --mean heads', async () => {
    const mean = json('-s', LIFE, '--mean', 'heads').tensors['h.0.weights.mean'];
    await withPage(tinyPage, async (page) => {
        await page.click('#view-table');
        await page.keyboard.press('m');
        same(causal(mean), await readTable(page));
    });
});

await test('vectors and scores have signs', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-table');
        await page.selectOption('#tensor', 'context');
        same(
            tiny[0].tensors['h.0.context'][0].map((row) => row.map(String)),
            await readTable(page),
        );
        await page.selectOption('#tensor', 'masked');
        same(causal(tiny[0].tensors['h.0.masked'][0]), await readTable(page));
        await page.selectOption('#tensor', 'embedding');
        same(
            tiny[0].tensors.embedding.map((row) => row.map(String)),
            await readTable(page),
        );
    }));

await test('means are the numbers of a run, too', async () => {
    const path = write('-s', LIFE, '--mean', 'heads,layers', '--words');
    const mean = json('-s', LIFE, '--mean', 'heads,layers', '--words');
    await withPage(path, async (page) => {
        await page.click('#view-table');
        same(causal(mean.tensors['h.mean.weights.mean']), await readTable(page));
        yes((await page.locator('caption').innerText()).includes('mean of layers · mean of heads'));
    });
});

await test('many numbers are rounded to three digits, and the page says so', async () => {
    const lines = join(scratch, 'lines');
    const words = LIFE.replace(',', '').split(' ');
    const text = Array.from({ length: 60 }, (_, i) => words[(i * i + 1) % words.length]).join(' ');
    writeFileSync(lines, Array(200).fill(text).join('\n'));
    const options = ['-f', lines, '--show', 'weights,masked,context'];
    const exact = json('-s', text, '--show', 'weights,masked,context').tensors;
    const short = (value) => (value === null ? '-inf' : String(Number(value.toPrecision(3))));
    await withPage(write(...options), async (page) => {
        await page.click('#view-table');
        yes((await page.locator('#notes').innerText()).includes('rounded to three digits'));
        same(
            causal(exact['h.0.weights'][0]).map((row) => row.map((v) => v && short(Number(v)))),
            await readTable(page),
        );
        for (const kind of ['masked', 'context']) {
            await page.selectOption('#tensor', kind);
            const largest = Math.max(
                ...exact[`h.0.${kind}`].flat(2).map(Math.abs).filter(isFinite),
            );
            const table = await readTable(page);
            exact[`h.0.${kind}`][0].forEach((row, r) =>
                row.forEach((value, c) => {
                    const found = table[r][c];
                    if (found === '') return;
                    const off = Math.abs(Number(found) - value);
                    yes(
                        off <= Math.max(0.005 * Math.abs(value), 6e-6 * largest),
                        `${value} ${found}`,
                    );
                }),
            );
        }
    });
});

// --- views, fields and keys ------------------------------------------------------------------------

await test('a view is chosen by its tab and by its number', () =>
    withPage(tinyPage, async (page) => {
        for (const [at, name] of VIEWS.entries()) {
            await page.click('#view-matrix');
            await page.keyboard.press(String(at + 1));
            same('true', await page.getAttribute(`#view-${name}`, 'aria-selected'), name);
            const other = VIEWS[VIEWS.length - 1 - at];
            await page.click(`#view-${other}`);
            same('true', await page.getAttribute(`#view-${other}`, 'aria-selected'));
        }
    }));

await test('arrows go through heads and layers', () =>
    withPage(tinyPage, async (page) => {
        const head = () => page.locator('.head[aria-checked="true"]').getAttribute('data-head');
        const seen = [];
        for (let i = 0; i < 5; i++) {
            seen.push(await head());
            await page.keyboard.press('ArrowRight');
        }
        same(['0', '1', '2', '3', 'mean'], seen);
        same('0', await head());
        await page.keyboard.press('ArrowLeft');
        same('mean', await head());
        await page.keyboard.press('ArrowDown');
        same('1', await page.inputValue('#layer'));
        yes(await page.isDisabled('#layer-up'), 'there is no layer behind the last');
        await page.click('#layer-down');
        same('0', await page.inputValue('#layer'));
    }));

await test('a head that is pointed at is shown, and goes again', () =>
    withPage(tinyPage, async (page) => {
        const picture = () => plot(page).evaluate((canvas) => canvas.toDataURL());
        const before = await picture();
        await page.hover('.head[data-head="2"]');
        yes((await picture()) !== before, 'the head is not shown');
        await page.mouse.move(1100, 700);
        same(before, await picture());
    }));

await test('the scale changes the picture', () =>
    withPage(tinyPage, async (page) => {
        const picture = () => plot(page).evaluate((canvas) => canvas.toDataURL());
        const pictures = [await picture()];
        await page.keyboard.press('s');
        same('sqrt', await page.inputValue('#scale'));
        pictures.push(await picture());
        await page.keyboard.press('s');
        pictures.push(await picture());
        await page.selectOption('#scale', 'linear');
        same(pictures[0], await picture());
        same(3, new Set(pictures).size, 'pictures that differ');
    }));

await test('the first token is hidden and shown', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-table');
        await page.check('#first');
        const rows = await readTable(page);
        same(6, rows.length);
        same(String(tiny[0].tensors['h.0.weights'][0][1][1]), rows[0][0]);
        yes((await page.locator('#notes').innerText()).includes('the first token is hidden'));
        await page.keyboard.press('Tab');
        await page.locator('#views').click({ position: { x: 900, y: 5 } });
        await page.keyboard.press('f');
        same(7, (await readTable(page)).length);
    }));

await test('a page begins as it was asked for', async () => {
    const path = write(
        '-s',
        LIFE,
        '--view',
        'overlay',
        '--color-scale',
        'log',
        '--range',
        'row',
        '--palette',
        'greys',
        '--hide-first',
        '--title',
        'Figure <1> & more',
    );
    await withPage(path, async (page) => {
        same('true', await page.getAttribute('#view-lines', 'aria-selected'));
        same(5, await page.locator('.head.chip[aria-checked="true"]').count()); // and `all`
        same('log', await page.inputValue('#scale'));
        await page.keyboard.press('1');
        same(['lowest', 'highest of the row'], await page.locator('#legend span').allInnerTexts());
        const grey = ([red, green, blue]) => red === green && green === blue;
        const [canvas] = await page.locator('#legend canvas').all();
        yes(
            grey(
                await canvas.evaluate((one) => [
                    ...one.getContext('2d').getImageData(99, 0, 1, 1).data,
                ]),
            ),
            'it is not grey',
        );
        yes(await page.isChecked('#first'), 'the first token is shown');
        same('Figure <1> & more', await page.locator('h1').innerText());
        same('Figure <1> & more', await page.title());
    });
});

await test('colours keep the bounds that were given', async () => {
    const path = write('-s', LIFE, '--range', '0:0.5');
    await withPage(path, async (page) => {
        same(['0', '≥ 0.5'], await page.locator('#legend span').allInnerTexts());
    });
    await withPage(write('-s', LIFE, '--range', '0:2'), async (page) =>
        same(['0', '2'], await page.locator('#legend span').allInnerTexts()),
    );
});

await test('texts are flipped through', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-table');
        await page.keyboard.press(']');
        same(causal(tiny[1].tensors['h.0.weights'][0]), await readTable(page));
        same('Life is Life', await page.locator('#origin').innerText());
        await page.keyboard.press(']');
        same('1', await page.inputValue('#sentence'));
        await page.keyboard.press('[');
        same('0', await page.inputValue('#sentence'));
        await page.selectOption('#sentence', '1');
        same('Life is Life', await page.locator('#origin').innerText());
    }));

await test('cells are reached and kept by the keyboard', () =>
    withPage(tinyPage, async (page) => {
        await plot(page).focus();
        await page.keyboard.press('ArrowDown');
        for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
        const weights = tiny[0].tensors['h.0.weights'];
        const value = (head) => String(weights[head][2][1]);
        yes((await readout(page)).startsWith(`${value(0)} query 2 “␣short” → key 1 “␣is”`));
        await page.keyboard.press('Enter');
        await page.mouse.move(1100, 40);
        yes((await readout(page)).startsWith(value(0)), 'the cell is not kept');
        await page.click('.head[data-head="3"]');
        yes((await readout(page)).startsWith(value(3)), 'the cell is not that of the new head');
        await page.keyboard.press('Escape');
        same('', await readout(page));
    }));

await test('lines of a token say what it looks at and what looks at it', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-lines');
        const box = await boxOf(plot(page));
        const all = await plot(page).evaluate((canvas) => canvas.toDataURL());
        await page.mouse.move(box.x + 20, box.y + box.height * 0.64);
        const said = await readout(page);
        const weights = tiny[0].tensors['h.0.weights'][0];
        const row = weights[4];
        const most = row.indexOf(Math.max(...row));
        yes(said.startsWith(`“␣eat” looks at “${shown(tiny[0].tokens[most])}” `), said);
        yes(all !== (await plot(page).evaluate((canvas) => canvas.toDataURL())), 'all lines stay');
        await page.mouse.move(box.x + box.width - 20, box.y + box.height * 0.64);
        yes((await readout(page)).startsWith('“␣eat” is looked at by '));
        await page.mouse.click(box.x + 20, box.y + box.height * 0.64);
        await page.mouse.move(1100, 700);
        same(said, await readout(page), 'the token is not kept');
    }));

await test('lines beside a matrix follow the row that is pointed at', () =>
    withPage(tinyPage, async (page) => {
        const lines = page.locator('.beside .plot').nth(1).locator('canvas');
        const seen = () => lines.evaluate((canvas) => canvas.toDataURL());
        const box = await boxOf(plot(page));
        const all = await seen();
        await page.mouse.move(box.x + 100, box.y + box.height - 20);
        const text = await readout(page);
        yes(text.includes('query 6 “␣first” → key 0 “Life”'), text);
        const row = await seen();
        yes(row !== all, 'all lines stay');
        const beside = await boxOf(lines);
        await page.mouse.move(beside.x + 20, beside.y + beside.height - 20);
        yes((await readout(page)).startsWith('“␣first” looks at '), await readout(page));
        same(row, await seen(), 'the rows are not at one height');
        await page.mouse.move(1100, 40);
        same('', await readout(page));
        same(all, await seen());
        await page.setViewportSize({ width: 640, height: 900 });
        await page.waitForTimeout(300);
        same(0, await page.locator('.beside').count(), 'there is no room');
    }));

await test('what the sides are stands above', () =>
    withPage(tinyPage, async (page) => {
        const caption = () => page.locator('.caption').innerText();
        same('weights · layer 0 · head 0 · rows: query, columns: key', await caption());
        await page.selectOption('#tensor', 'embedding');
        same('embedding · rows: token, columns: channel', await caption());
        await page.click('#view-lines');
        same('weights · layer 0 · head 0 · left: query, right: key', await caption());
        await page.keyboard.press('a');
        same('weights · layer 0 · left: query, right: key', await caption());
        same('true', await page.getAttribute('.head[data-head="all"]', 'aria-checked'));
        same(5, await page.locator('.head[aria-checked="true"]').count());
        await page.click('.head[data-head="all"]');
        same(1, await page.locator('.head[aria-checked="true"]').count());
    }));

await test('heads are laid over each other, one alone by a double click', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-lines');
        const chosen = () =>
            page.$$eval('.head[aria-checked="true"]', (all) => all.map((b) => b.dataset.head));
        same(['0'], await chosen());
        await page.click('.head[data-head="2"]');
        await page.click('.head[data-head="3"]');
        same(['0', '2', '3'], await chosen());
        await page.click('.head[data-head="0"]');
        same(['2', '3'], await chosen());
        await page.click('.head[data-head="mean"]');
        same(['mean'], await chosen());
    }));

// What is said below is said again by screen readers: it must be of what is shown, or nothing.
await test('what was pointed at is forgotten with every change', async () => {
    const changes = [
        (page) => page.selectOption('#sentence', '1'),
        (page) => page.click('#view-table'),
        (page) => page.click('#view-space'),
        (page) => page.click('#view-model'),
        (page) => page.click('#view-text'),
        (page) => page.click('#view-lines'),
        (page) => page.selectOption('#tensor', 'embedding'),
        (page) => page.selectOption('#layer', '1'),
        (page) => page.check('#first'),
        (page) => page.click('.head[data-head="2"]'),
    ];
    for (const change of changes)
        await withPage(tinyPage, async (page) => {
            await plot(page).focus();
            await page.keyboard.press('ArrowDown');
            yes((await readout(page)) !== '', 'nothing was pointed at');
            await change(page);
            same('', await readout(page), String(change));
        });
});

await test('a token that is hidden is no longer pointed at', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-text');
        await page.click('.running button >> nth=0');
        yes((await readout(page)).startsWith('“Life” looks at'), await readout(page));
        await page.check('#first');
        same('', await readout(page));
    }));

await test('a head of the model opens beside the others', () =>
    withPage(tinyPage, async (page) => {
        const heading = () => page.locator('#detail h2').innerText();
        await page.click('#view-model');
        same(8, await page.locator('.grid button').count());
        await page.click('[aria-label="weights · layer 1 · head 2"]');
        yes((await heading()).startsWith('weights · layer 1 · head 2'), await heading());
        await page.keyboard.press('ArrowUp');
        yes((await heading()).startsWith('weights · layer 0 · head 2'));
        const grid = await boxOf(page.locator('.grid'));
        const detail = await boxOf(page.locator('#detail'));
        yes(
            grid.x + grid.width <= detail.x + 1 || grid.y + grid.height <= detail.y + 1,
            'it covers',
        );
        await page.click('#detail button');
        same('true', await page.getAttribute('#view-matrix', 'aria-selected'));
        same('2', await page.locator('.head[aria-checked="true"]').getAttribute('data-head'));
        await page.click('#view-model');
        await page.check('input[name="small"] >> nth=1');
        await page.keyboard.press('Escape');
        yes(await page.locator('#detail').isHidden(), 'it stays open');
    }));

await test('the text shows what a token looks at', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-text');
        same(
            LIFE,
            (await page.$$eval('.running button', (all) => all.map((b) => b.textContent))).join(''),
        );
        await page.hover('.running button >> nth=4');
        const grounds = await page.$$eval('.running button', (all) =>
            all.map((button) => Boolean(button.style.background)),
        );
        same([true, true, true, true, true, false, false], grounds);
        await page.click('input[name="way"] >> nth=1');
        await page.hover('.running button >> nth=4');
        yes((await readout(page)).startsWith('“␣eat” is looked at by'));
    }));

await test('the text shows parts of characters by their labels', () =>
    withPage(write('-s', 'is 我'), async (page) => {
        await page.click('#view-text');
        same(
            ['is', '␣', '我₁', '我₂', '我₃'],
            await page.$$eval('.running button', (all) => all.map((b) => b.textContent)),
        );
    }));

// --- space -----------------------------------------------------------------------------------------

// Eigenvalues of a symmetric matrix, by Jacobi's rotations.
function eigenvalues(matrix) {
    const a = matrix.map((row) => [...row]);
    const n = a.length;
    for (let sweep = 0; sweep < 60; sweep++)
        for (let p = 0; p < n; p++)
            for (let q = p + 1; q < n; q++) {
                if (Math.abs(a[p][q]) < 1e-15) continue;
                const angle = Math.atan2(2 * a[p][q], a[q][q] - a[p][p]) / 2;
                const [c, s] = [Math.cos(angle), Math.sin(angle)];
                for (let k = 0; k < n; k++)
                    [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
                for (let k = 0; k < n; k++)
                    [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
            }
    return a.map((row, i) => row[i]).sort((x, y) => y - x);
}

await test('the axes of space are the principal components', () =>
    withPage(tinyPage, async (page) => {
        const vectors = tiny[0].tensors.embedding;
        const mean = vectors[0].map(
            (_, i) => vectors.reduce((s, v) => s + v[i], 0) / vectors.length,
        );
        const centred = vectors.map((v) => v.map((value, i) => value - mean[i]));
        const gram = centred.map((a) => centred.map((b) => a.reduce((s, x, i) => s + x * b[i], 0)));
        const values = eigenvalues(gram);
        const whole = values.reduce((a, b) => a + b, 0);
        await page.click('#view-space');
        const label = await page.getAttribute('.space', 'aria-label');
        const shares = values.slice(0, 3).map((value) => `${((100 * value) / whole).toFixed(1)} %`);
        yes(
            label.endsWith(`of the spread the axes hold ${shares.join(', ')}`),
            `${label} ${shares}`,
        );
    }));

await test('space turns, and comes closer', () =>
    withPage(tinyPage, async (page) => {
        await page.click('#view-space');
        const picture = () => page.locator('.space').evaluate((canvas) => canvas.toDataURL());
        const pictures = [await picture()];
        const box = await boxOf(page.locator('.space'));
        await page.mouse.move(box.x + 100, box.y + 100);
        await page.mouse.down();
        await page.mouse.move(box.x + 220, box.y + 150);
        await page.mouse.up();
        pictures.push(await picture());
        await page.locator('.space').focus();
        await page.keyboard.press('ArrowLeft');
        pictures.push(await picture());
        await page.keyboard.press('+');
        pictures.push(await picture());
        await page.check('input[name="axes"] >> nth=1');
        pictures.push(await picture());
        same(5, new Set(pictures).size);
    }));

// --- what an attribution has below its picture ------------------------------------------------------

await test('bars of an attribution stand above their numbers', () => {
    const path = join(scratch, 'parts.html');
    execFileSync(attn, ['attribute', '-q', LIFE, '-o', path]);
    return withPage(path, async (page) => {
        const parts = execFileSync(attn, ['attribute', '-q', LIFE]).toString();
        await page.focus('summary');
        await page.keyboard.press('Enter');
        const rows = await page.$$eval('details[open] tr', (all) =>
            all.map((row) => [...row.children].map((cell) => cell.textContent.trim())),
        );
        const lines = parts.split('\n').slice(-rows.length - 1, -1);
        same(10, rows.length);
        rows.forEach(([name, value], at) => {
            const [, text, number] = /^(.*?) {2,}(-?[0-9.]+)/.exec(lines[at]);
            same([text, Number(number)], [name, Number(Number(value).toFixed(4))]);
        });
        yes((await page.locator('svg text').allTextContents()).includes('layer 1 mlp'), 'no bars');
    });
});

// --- texts that disturb ----------------------------------------------------------------------------

const odd = wordModel('odd', ODD);
const oddText = '我 🍰 مرحبا </script><b> & " Life';

await test('a token stays text', async () => {
    const path = write('-m', odd, '-s', oddText, '--title', '</title><b>');
    const source = readFileSync(path, 'latin1');
    same(source.match(/<script/g).length, source.match(/<\/script>/g).length);
    await withPage(path, async (page) => {
        same(0, await page.locator('h1 b, p b:not(#readout b), script b').count());
        await page.click('#view-table');
        const headings = await page.$$eval('tbody th', (cells) => cells.map((c) => c.textContent));
        same(oddText.split(' '), headings);
        await page.click('#view-text');
        const texts = await page.$$eval('.running button', (all) => all.map((b) => b.textContent));
        same(oddText, texts.join(''));
        same('</title><b>', await page.title());
        await page.click('#view-lines');
        await page.click('#view-model');
    });
});

await test('separators of lines are escaped', () => {
    const path = write('-m', odd, '--ids', '6,7');
    yes(!readFileSync(path).includes('\u2028'), 'U+2028 stands in the page');
});

await test('one token, cross-attention and bare vectors are shown', async () => {
    const pagesOf = [
        write('-s', 'Life'),
        write('-s', 'Life', '--show', 'embedding'),
        write('-m', 'life-cross', '-s', 'Life is', '--source', 'short dessert first'),
        write('-s', LIFE, '--layer', '0', '--head', '2', '--show', 'all'),
    ];
    for (const path of pagesOf)
        await withPage(path, async (page) => {
            for (const name of VIEWS)
                if (!(await page.isDisabled(`#view-${name}`))) {
                    await page.click(`#view-${name}`);
                    yes((await page.locator('#stage').innerHTML()) !== '', `${name} is empty`);
                }
            await page.keyboard.press('f');
        });
});

// --- screens and long texts ------------------------------------------------------------------------

await test('the page is sharp at once and twice the pixels, light and dark', async () => {
    for (const deviceScaleFactor of [1, 2])
        for (const colorScheme of ['light', 'dark'])
            await withPage(
                tinyPage,
                async (page) => {
                    const ground = () =>
                        page.evaluate(() => getComputedStyle(document.body).backgroundColor);
                    const [width, shown] = await plot(page).evaluate((canvas) => [
                        canvas.width,
                        canvas.getBoundingClientRect().width,
                    ]);
                    same(Math.round(shown * deviceScaleFactor), width);
                    same(
                        colorScheme === 'dark' ? 'rgb(15, 18, 22)' : 'rgb(255, 255, 255)',
                        await ground(),
                    );
                    await page.keyboard.press('d');
                    same('Light', await page.locator('#theme').innerText());
                    same('rgb(255, 255, 255)', await ground());
                    await page.keyboard.press('d');
                    same('rgb(15, 18, 22)', await ground());
                },
                { deviceScaleFactor, colorScheme },
            );
});

// --- on paper --------------------------------------------------------------------------------------

// What is drawn when the page is printed, and whether it is as wide as the paper at most.
async function printed(page) {
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    const found = await page.evaluate(() => {
        const stage = document.getElementById('stage');
        const shown = [...stage.querySelectorAll('canvas, table, .grid')].map((one) =>
            one.getBoundingClientRect(),
        );
        const cut = [...document.querySelectorAll('.plot, .wide, .grid')].filter(
            (one) => one.scrollHeight > one.clientHeight + 1,
        );
        return {
            right: Math.max(0, ...shown.map((box) => box.right)),
            cut: cut.length,
            ground: getComputedStyle(document.body).backgroundColor,
            text: getComputedStyle(document.body).color,
            controls: document.getElementById('controls').getBoundingClientRect().height,
            footer: getComputedStyle(document.querySelector('footer')).position,
        };
    });
    return found;
}

await test('paper holds all of a picture, dark on white', async () => {
    const words = LIFE.replace(',', '').split(' ');
    const long = Array.from({ length: 60 }, (_, i) => words[(i * 7 + i * i) % words.length]);
    const lesson = join(scratch, 'paper.html');
    execFileSync(attn, ['lesson', '-o', lesson]);
    const paths = [
        tinyPage,
        write('-m', 'life-4-heads', '-s', long.join(' ')),
        writePage('-s', LIFE, '--lens', '--show', 'all'),
        lesson,
    ];
    for (const path of paths)
        for (const colorScheme of ['light', 'dark'])
            await withPage(
                path,
                async (page) => {
                    const all = '#views button:enabled';
                    const names = await page.$$eval(all, (tabs) => tabs.map((one) => one.id));
                    for (const name of names) {
                        await page.click(`#${name}`);
                        const found = await printed(page);
                        yes(found.right <= 680, `${name} ends at ${found.right}`);
                        same(0, found.cut, `${name} is cut`);
                        same('rgb(255, 255, 255)', found.ground);
                        same('rgb(26, 29, 34)', found.text);
                        same([0, 'static'], [found.controls, found.footer]);
                        await page.emulateMedia({ media: 'screen' });
                        await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
                        yes(await page.isVisible('#controls'), 'the page stays as it was printed');
                    }
                },
                { colorScheme },
            );
});

await test('a lesson on paper has its answers', async () => {
    const lesson = join(scratch, 'paper.html');
    await withPage(lesson, async (page) => {
        yes(!(await page.isVisible('.question p')), 'the answer is there at once');
        await printed(page);
        yes(await page.isVisible('.question p'), 'paper has no answer');
    });
});

await test('who wants no motion has none', () =>
    withPage(
        writePage('-s', LIFE),
        async (page) => {
            const lasting = () =>
                page.evaluate(
                    () =>
                        [...document.querySelectorAll('*')].filter((one) => {
                            const style = getComputedStyle(one);
                            const times = `${style.transitionDuration},${style.animationDuration}`;
                            return times.split(',').some((time) => parseFloat(time) > 0);
                        }).length,
                );
            await page.click('#view-walk');
            same(0, await lasting());
            await page.emulateMedia({ reducedMotion: 'no-preference' });
            yes((await lasting()) > 0, 'nothing moves anyway');
        },
        { reducedMotion: 'reduce' },
    ));

// Chromium's own way to paper has traps that no look at the screen shows.
async function darkPixels(page) {
    const pdf = join(scratch, 'page.pdf');
    await page.pdf({ path: pdf, format: 'A4' });
    const pgm = execFileSync('pdftoppm', ['-r', '20', '-gray', '-f', '1', '-l', '1', pdf]);
    return pgm.subarray(15).filter((value) => value < 90).length;
}

try {
    execFileSync('pdftoppm', ['-v'], { stdio: 'ignore' });
    await test('a printed page has the cells that the screen has', async () => {
        for (const colorScheme of ['light', 'dark'])
            await withPage(
                tinyPage,
                async (page) => {
                    const dark = await darkPixels(page);
                    yes(dark > 120 && dark < 3000, `${dark} dark pixels`);
                },
                { colorScheme },
            );
    });
} catch (error) {
    if (error.code !== 'ENOENT') throw error;
    counts.skipped += 1;
    console.log('skipped: pages on paper: pdftoppm is not installed');
}

await test('a page of a narrow window scrolls nowhere but within', () =>
    withPage(
        tinyPage,
        async (page) => {
            for (const name of VIEWS) {
                await page.click(`#view-${name}`);
                const wider = await page.evaluate(
                    () =>
                        document.documentElement.scrollWidth - document.documentElement.clientWidth,
                );
                yes(wider <= 0, `${name} is ${wider} pixels too wide`);
            }
        },
        { viewport: { width: 420, height: 800 } },
    ));

await test('two hundred tokens are fluid', async () => {
    const words = LIFE.replace(',', '').split(' ');
    const text = Array.from({ length: 200 }, (_, i) => words[(i * 7 + i * i) % words.length]).join(
        ' ',
    );
    await withPage(write('-m', 'life-4-heads', '-s', text), async (page) => {
        const slowest = async (action) => {
            const times = [];
            for (let i = 0; i < 5; i++) {
                const start = Date.now();
                await action(i);
                await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
                times.push(Date.now() - start);
            }
            return times.sort((a, b) => a - b)[2];
        };
        const box = await boxOf(plot(page));
        const move = await slowest((i) =>
            page.mouse.move(box.x + 300 + 9 * i, box.y + 200 + 5 * i),
        );
        const head = await slowest(() => page.keyboard.press('ArrowRight'));
        await page.click('#view-lines');
        const lines = await slowest((i) => page.mouse.move(box.x + 20, box.y + 20 + 16 * i));
        console.log(`        200 tokens: cell ${move} ms, head ${head} ms, lines ${lines} ms`);
        yes(move < 400 && head < 1000 && lines < 1000, `${move} ${head} ${lines} ms`);
    });
});

// --- the same SVG in two programs ------------------------------------------------------------------

async function pixelsOf(page, png) {
    return page.evaluate(async (source) => {
        const image = new Image();
        image.src = `data:image/png;base64,${source}`;
        await image.decode();
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext('2d');
        context.fillStyle = '#fff';
        context.fillRect(0, 0, image.width, image.height);
        context.filter = 'blur(2px)'; // letters are set a bit differently
        context.drawImage(image, 0, 0);
        return [
            image.width,
            image.height,
            ...context.getImageData(0, 0, image.width, image.height).data,
        ];
    }, png);
}

async function compareRenderings(...options) {
    const svg = join(scratch, 'picture.svg');
    run(...options, '-o', svg);
    execFileSync('rsvg-convert', [svg, '-o', join(scratch, 'rsvg.png')]);
    const page = await browser.newPage();
    const other = readFileSync(join(scratch, 'rsvg.png')).toString('base64');
    const rsvg = await pixelsOf(page, other);
    await page.setViewportSize({ width: rsvg[0], height: rsvg[1] });
    await page.goto(pathToFileURL(svg).href);
    const shot = (await page.screenshot()).toString('base64');
    await page.goto('about:blank');
    const chrome = await pixelsOf(page, shot);
    await page.close();
    same([rsvg[0], rsvg[1]], [chrome[0], chrome[1]], 'sizes');
    let off = 0;
    for (let i = 2; i < rsvg.length; i++) off += Math.abs(rsvg[i] - chrome[i]);
    off /= rsvg.length;
    yes(off < 3, `the pictures differ by ${off.toFixed(2)} of 255`);
}

try {
    execFileSync('rsvg-convert', ['--version']);
    for (const view of ['matrix', 'lines', 'overlay', 'bars'])
        await test(`SVG of ${view} is the same in Chromium and rsvg`, () =>
            compareRenderings('-s', LIFE, '--view', view));
    await test('SVG of vectors is the same in Chromium and rsvg', () =>
        compareRenderings(
            '-s',
            LIFE,
            '--show',
            'embedding,weights',
            '--layer',
            '0',
            '--head',
            '1',
        ));
} catch (error) {
    if (error.code !== 'ENOENT') throw error;
    counts.skipped += 1;
    console.log('skipped: SVG in Chromium and rsvg: rsvg-convert is not installed');
}

await import('./why.mjs');
await import('./next.mjs');
await import('./lens.mjs');
await import('./scores.mjs');
await import('./lesson.mjs');
await import('./live.mjs');
await import('./save.mjs');
await import('./compare.mjs');
await import('./weight.mjs');
await import('./access.mjs');

await browser.close();
const { passed, failed, skipped } = counts;
console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed ? 1 : 0);
