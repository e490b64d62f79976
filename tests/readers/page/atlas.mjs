// The page of an atlas shows what its files have.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { attn, open, same, scratch, test, withPage, yes } from './harness.mjs';

const folder = join(scratch, 'atlas');
const corpus = join(process.env.ROOT, 'data/fables.txt');
const write = (to, ...words) =>
    execFileSync(attn, ['atlas', '-q', '-f', corpus, '-o', to, ...words]);
// The folder's atlas, which the first of the tests that run writes.
const atlas = () => {
    if (!existsSync(folder)) write(folder);
    return folder;
};
const lines = (name) => readFileSync(join(atlas(), name), 'utf8').trim().split('\n');
const openAt = (act) => withPage(join(atlas(), 'index.html'), act);

// The weights that the words of an example show.
const weightsOf = (words) =>
    words
        .locator('span')
        .evaluateAll((all) => all.map((one) => Number(one.style.getPropertyValue('--weight'))));

await test('the page of an atlas has the examples of its file', async () => {
    const examples = lines('examples.jsonl')
        .map(JSON.parse)
        .filter((one) => one.layer === 1 && one.head === 3);
    await openAt(async (page) => {
        same(
            'L1H3',
            await page.locator('#head h2 span').first().innerText(),
            'the head that opens',
        );
        const buttons = page.locator('#head [role=group] button');
        const intervals = [...new Set(examples.map((one) => one.interval))];
        same(intervals.length, await buttons.count(), 'intervals');
        for (const [at, interval] of intervals.entries()) {
            await page.locator('#head [role=group] button').nth(at).click();
            const boxes = page.locator('.example');
            const expected = examples.filter((one) => one.interval === interval);
            const numbers = await boxes.evaluateAll((all) =>
                all.map((one) => Number(one.dataset.text)),
            );
            same(
                expected.map((one) => one.text),
                numbers,
                'texts',
            );
            for (const [index, example] of expected.entries()) {
                const words = boxes.nth(index).locator('.words');
                same(
                    example.tokens.join(''),
                    await words.evaluate((one) => one.textContent),
                    'tokens',
                );
                const query = Math.min(7, example.tokens.length - 1);
                await words.locator('span').nth(query).hover();
                const found = await weightsOf(words);
                example.tokens.forEach((_, key) => {
                    const weight =
                        example.entries.find(([q, k]) => q === query && k === key)?.[2] ?? 0;
                    yes(
                        Math.abs(weight - found[key]) < 0.003,
                        `weight ${query}:${key} ${found[key]}`,
                    );
                });
            }
        }
    });
});

await test('the page of an atlas has the pairs, promotions and commands of its head', async () => {
    await openAt(async (page) => {
        const rows = await page
            .locator('#head table')
            .first()
            .locator('tbody tr')
            .evaluateAll((all) =>
                all.map((row) => [...row.cells].map((cell) => cell.textContent)),
            );
        const pairs = lines('pairs.csv').filter((line) => /^1,3,/.test(line));
        same(pairs.length, rows.length, 'pairs');
        const plain = (line) => line.replaceAll('"', '');
        yes(
            pairs.every((line, at) =>
                plain(line).includes(`${rows[at][0]},${rows[at][1]},${rows[at][2]}`),
            ),
            'rows',
        );
        same(10, await page.locator('#head table').nth(1).locator('tbody tr').count(), 'keys');
        const command = await page.locator('.command code').first().innerText();
        const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
            ([, quoted, plainWord]) => quoted ?? plainWord,
        );
        const table = execFileSync(attn, [...words.slice(1), '--format', 'csv']).toString();
        const tokens = await page.locator('.example').first().locator('.words span').count();
        same(tokens + 1, table.trim().split('\n').length, 'rows of the command');
    });
});

await test('a large atlas loads the examples of a head from a file of their own', async () => {
    const large = `${folder}-large`;
    const all = ['--intervals', '100', '--samples', '1000', '--top-samples', '1000'];
    write(large, ...all, '--keys', '30', '--floor', '0.02');
    const examples = readFileSync(join(large, 'examples.jsonl'), 'utf8').trim().split('\n');
    const lightOf = async (page, name) => {
        const [layer, head] = name.split('.').map(Number);
        const start = `"layer": ${layer}, "head": ${head}, `;
        const example = JSON.parse(examples.find((line) => line.includes(start)));
        const words = page.locator('.example .words').first();
        same(example.tokens.join(''), await words.evaluate((one) => one.textContent), 'tokens');
        await words.locator('[style*="weight: 0."]').first().waitFor();
        await words.locator('span').nth(7).hover();
        const found = await weightsOf(words);
        for (const [query, key, weight] of example.entries)
            yes(query !== 7 || Math.abs(weight - found[key]) < 0.003, `weight ${key}`);
    };
    await withPage(join(large, 'index.html'), async (page) => {
        await lightOf(page, '1.3');
        await page.locator('#find').fill('0.2');
        await page.locator('#find').press('Enter');
        await lightOf(page, '0.2');
    });
    rmSync(join(large, 'heads'), { recursive: true });
    const { page } = await open(join(large, 'index.html'));
    await page.getByText('heads/L1H3.js is missing').waitFor();
    await page.context().close(); // whose console has the failure
});

await test('the keyboard, the list and the finder of an atlas choose heads', async () => {
    const compared = `${folder}-compared`;
    write(compared, '--against', atlas());
    await withPage(join(compared, 'index.html'), async (page) => {
        const title = () => page.locator('#head h2 span').first().innerText();
        await page.locator('#view button').nth(1).click();
        await page.locator('[data-head="1.3"]').focus();
        for (const key of ['ArrowUp', 'ArrowLeft', 'Enter']) await page.keyboard.press(key);
        same('L0H2', await title());
        await page.locator('#find').fill('1.1');
        await page.locator('#find').press('Enter');
        same('L1H1', await title());
        await page.locator('#find').fill('');
        await page.locator('#view button').first().click();
        await page.locator('#difference').check();
        const labels = await page
            .locator('.one')
            .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
        same(8, labels.length, 'points');
        yes(
            labels.every((label) => /induction 0\b/.test(label)),
            `no difference from itself: ${labels[0]}`,
        );
        await page.locator('#difference').uncheck();
        const box = await page.locator('#map svg').boundingBox();
        await page.mouse.move(box.x + 1, box.y + 1);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width - 1, box.y + box.height - 1, { steps: 3 });
        await page.mouse.up();
        same(8, await page.locator('#chosen button').count(), 'heads in the box');
        yes(
            /^L1H3 /.test(await page.locator('#chosen button').first().innerText()),
            'the largest first',
        );
        await page.locator('#language').click();
        yes(/图谱/.test(await page.locator('#title').innerText()), 'Chinese');
        await page.locator('#theme').click();
        same('dark', await page.locator('html').getAttribute('data-theme'));
    });
});
