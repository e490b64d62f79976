// Why this number: what the panel says is what `explain` prints.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attn,
    attnJson,
    boxOf,
    json,
    plot,
    readout,
    same,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

// The numbers of a column of the panel's tables, by its title, from the first table that has it.
const column = (page, title) =>
    page.$$eval(
        '#why table',
        (tables, wanted) => {
            for (const table of tables) {
                const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
                const at = titles.indexOf(wanted);
                if (at > 0)
                    return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
            }
            return null;
        },
        title,
    );
const number = (page, name) => page.locator(`#why [data-name="${name}"]`).innerText();
const texts = (values) => values.map((value) => (value === null ? '' : String(value)));

// A cell of the matrix, by the keyboard.
async function keep(page, row, key) {
    await plot(page).focus();
    await page.keyboard.press('ArrowRight');
    for (let i = 0; i < row; i++) await page.keyboard.press('ArrowDown');
    for (let i = 0; i < key; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
}

// What `explain --format json` has of a step.
const columnsOf = (found, name) => found.steps.find((step) => step.name === name).columns;

// Everything that is shown of a query of head 1 of layer 0, and of one of its keys.
async function checkCell(page, options, row, key, what = '') {
    const found = attnJson('explain', '-q', ...options, '--head', '1', '--token', String(row));
    const run = json(...options, '--show', 'q').tensors['h.0.q'][1][row];
    const { k, score } = columnsOf(found, 'scores');
    same(texts(run), await column(page, 'q'), 'q');
    same(texts(k[key]), await column(page, 'k'), 'k');
    const shown = (await column(page, 'q · k')).map((text) => Math.fround(Number(text)));
    same(
        k[key].map((value, i) => Math.fround(Math.fround(value) * Math.fround(run[i]))),
        shown,
        'products',
    );
    same(String(score[key]), await number(page, 'score'), 'score');
    same(String(columnsOf(found, 'scaled').scaled[key]), await number(page, 'scaled'), 'scaled');
    const { masked } = columnsOf(found, 'masked');
    same(String(masked[key]), await number(page, 'masked'), 'masked');
    same(texts(masked.slice(0, row + 1)), (await column(page, 'masked')).slice(0, row + 1));
    const { weight } = columnsOf(found, 'weights');
    same(texts(weight.slice(0, row + 1)), (await column(page, 'weight')).slice(0, row + 1));
    same(texts(columnsOf(found, 'values').v[key]), await column(page, 'v'), 'v');
    const context = found.steps.find((step) => step.name === 'context').total.weighted;
    same(texts(context), await column(page, 'context'), `context ${what}`);
}

await test('a cell is explained by the numbers of explain', async () => {
    const options = ['-s', LIFE];
    await withPage(writePage(...options), async (page) => {
        await page.click('.head[data-head="1"]');
        await keep(page, 3, 1);
        await checkCell(page, options, 3, 1);
        yes(
            await page
                .locator('#why tr[aria-current] button')
                .evaluate((button) => button.textContent === '1 ␣is'),
        );
        await page.click('#why tr[data-key="2"] button');
        await checkCell(page, options, 3, 2);
        yes((await readout(page)).includes('query 3'), await readout(page));
        yes((await readout(page)).includes('key 2'), await readout(page));
        await page.hover('#why tr[data-dim="4"] >> nth=0');
        same(2, await page.locator('#why tr.tied').count(), 'lines of the same dim');
        await page.keyboard.press('Escape');
        yes(await page.isHidden('#why'), 'the panel is still there');
    });
});

await test('families are explained, with the rotation of their queries and keys', async () => {
    for (const [name, turns] of [
        ['llama', true],
        ['gemma2', true],
        ['bloom', false],
        ['qwen3', true],
    ]) {
        const model = join(process.env.ROOT, 'tests/golden-families', name);
        const options = ['-m', model, '--ids', '11,12,9,10'];
        await withPage(writePage(...options), async (page) => {
            await page.click('.head[data-head="1"]');
            await keep(page, 2, 1);
            await checkCell(page, options, 2, 1, name);
            same(turns, (await column(page, 'k before')) !== null, `${name} turns`);
            if (!turns) return;
            const before = json(...options, '--show', 'q_pre').tensors['h.0.q_pre'][1][2];
            same(texts(before), await column(page, 'q before'));
        });
    }
});

await test('the numbers between a score and its softmax are those of explain', async () => {
    const model = join(process.env.ROOT, 'tests/golden-families/gemma2');
    const options = ['-m', model, '--ids', '11,12,9,10'];
    const found = attnJson('explain', '-q', ...options, '--head', '1', '--token', '2');
    await withPage(writePage(...options), async (page) => {
        await page.click('.head[data-head="1"]');
        await keep(page, 2, 1);
        const { capped } = columnsOf(found, 'capped');
        const off = Math.abs(Number(await number(page, 'capped')) - capped[1]);
        yes(off <= 2e-7 * Math.abs(capped[1]), `${await number(page, 'capped')} ${capped[1]}`);
    });
});

await test('linear and cross-attention and examples without weights are explained', async () => {
    const linear = ['-s', LIFE, '--attention', 'linear'];
    await withPage(writePage(...linear), async (page) => {
        await keep(page, 3, 1);
        const found = attnJson('explain', '-q', ...linear, '--token', '3');
        const products = found.steps.find((step) => step.columns?.score && step.columns?.g);
        same(String(products.columns.score[1]), await number(page, 'score'));
        same(texts(products.columns.g[1]), await column(page, 'φ(k)'));
    });
    const both = ['-m', 'translate', '-s', '<s> le', '--source', 'the small cat'];
    await withPage(writePage(...both, '--show', 'cross_weights'), async (page) => {
        await keep(page, 1, 2);
        const found = attnJson('explain', '-q', ...both, '--token', '1', '--part', 'cross');
        same(String(columnsOf(found, 'scores').score[2]), await number(page, 'score'));
        const line = await page.locator('#why code').innerText();
        yes(line.includes('--part cross'), line);
    });
    const bare = ['-m', 'journey', '-s', 'Your journey starts'];
    await withPage(writePage(...bare), async (page) => {
        await keep(page, 0, 2);
        const found = attnJson('explain', '-q', ...bare, '--token', '0');
        same(String(columnsOf(found, 'scores').score[2]), await number(page, 'score'));
    });
});

await test('a line is explained, by mouse and by keys', () =>
    withPage(writePage('-s', LIFE, '--view', 'lines', '--head', '0'), async (page) => {
        await plot(page).focus();
        for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        yes((await page.locator('#why p').first().innerText()).includes('looks at'), 'no panel');
        await page.click('#why h2 button');
        yes(await page.isHidden('#why'), 'the panel is still there');
        const box = await boxOf(plot(page));
        // the line from the first token to itself is level
        await page.mouse.click(box.x + box.width / 2, box.y + 4 + 17);
        yes((await page.locator('#why p').first().innerText()).includes('(0)'), 'no line there');
    }));

await test('what a page does not hold has its cost and a command line', async () => {
    const path = writePage('-s', "it's short", '--explain', '1.0');
    await withPage(path, async (page) => {
        await keep(page, 1, 0);
        const text = await page.locator('#why').innerText();
        const lines = await page.locator('#why code').allInnerTexts();
        const before = readFileSync(path).length;
        const all = lines[1].replace('attn-cli', attn).replace('page.html', path);
        execFileSync('sh', ['-c', `${all} -q --explain none`]);
        const none = readFileSync(path).length;
        execFileSync('sh', ['-c', `${all} -q`]);
        const told = Number(/of all heads ([\d,]+)/.exec(text)[1].replaceAll(',', ''));
        const real = readFileSync(path).length - none;
        yes(before > none && told < real && real < told + 40 * 300, `${told} ${real}`);
    });
    await withPage(path, async (page) => {
        await keep(page, 1, 0);
        yes((await column(page, 'q')) !== null, 'it is not there');
    });
});

await test('an explanation begins with what it comes to, and leads to other heads', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        const { tensors } = json('-s', LIFE);
        const percent = (share) => `${(100 * share).toFixed(2)} %`;
        await page.selectOption('#layer', '1');
        await page.click('.head[data-head="1"]');
        await keep(page, 4, 2);
        const row = tensors['h.1.weights'][1][4];
        const [share, dims] = await page.$$eval('#why .verdict', (all) =>
            all.map((one) => one.textContent),
        );
        const next = percent([...row].sort((a, b) => b - a)[1]);
        same(
            `${percent(row[2])} of the attention, most of 5 keys that are seen; ` +
                `next is “Life”, ${next}.`,
            share,
        );
        const products = (await column(page, 'q · k')).map((text, dim) => [Number(text), dim]);
        const best = products.sort((a, b) => b[0] - a[0]).slice(0, 3);
        yes(
            dims.endsWith(`${best.map(([value, dim]) => `dim ${dim} (${value})`).join(', ')}.`),
            dims,
        );
        const found = await page.$$eval('.looking button', (all) => all.map((b) => b.textContent));
        const all = [0, 1].flatMap((layer) =>
            tensors[`h.${layer}.weights`].map((head, at) => [head[4][2], `${layer}.${at}`]),
        );
        const expected = all.sort((a, b) => b[0] - a[0]).slice(0, 3);
        same(
            expected.map(([value, name]) => `${name} ${value}`),
            found,
        );
        await page.locator('.looking button').first().click();
        yes((await readout(page)).startsWith(`${expected[0][0]} query 4 “␣eat”`), 'not there');
        yes(await page.isVisible('#why .verdict'), 'no explanation there');
    }));
