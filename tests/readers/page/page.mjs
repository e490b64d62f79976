// Pages in headless Chromium show the numbers of --format json; their fields and keys work; they
// send no request.
//
//     MODULES=FOLDER node page.mjs ATTN_CLI CHROMIUM
//
// FOLDER contains node_modules with playwright-core; see run.sh.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
    LIFE,
    ODD,
    attn,
    boxOf,
    browser,
    causal,
    cellsOf,
    counts,
    drawn,
    json,
    matrix,
    pixels,
    readTable,
    readout,
    run,
    same,
    scratch,
    showHead,
    test,
    withPage,
    wordModel,
    write,
    writePage,
    yes,
} from './harness.mjs';

// --- numbers -------------------------------------------------------------------------------------

const SHOW = 'embedding,weights,masked,context';
const tinyPage = write('-s', LIFE, '-s', 'Life is Life', '--show', SHOW);
const tiny = json('-s', LIFE, '-s', 'Life is Life', '--show', SHOW);
const shown = (token) => token.text.replaceAll(' ', '␣');

await test('`run -o x.html` and `page` write the same page', () => {
    const path = writePage('-s', LIFE, '-s', 'Life is Life', '--show', SHOW);
    const bytes = (one) => readFileSync(one, 'latin1').replace(/"attn-cli (page|run) /, '');
    same(bytes(path), bytes(tinyPage));
});

const explainsMixer = (family) => {
    const model = ['-m', join(process.env.ROOT, 'tests/references/golden-families', family)];
    const text = [...model, '--ids', '1,4,2,0,3,1'];
    const [found] = [json(...text, '--show', 'mix_map')].flat();
    return withPage(writePage(...text), async (page) => {
        const layer = Number(/h\.(\d+)/.exec(Object.keys(found.tensors)[0])[1]);
        await showHead(page, `${layer}.1`);
        const map = found.tensors[`h.${layer}.mix_map`][1];
        same(causal(map), await readTable(page));
        yes(/No softmax/.test(await page.locator('#map-words').innerText()), 'words of the map');
        await matrix(page).focus();
        for (const key of ['ArrowDown', 'ArrowLeft', 'ArrowLeft', 'Enter'])
            await page.keyboard.press(key);
        const parts = await page.$$eval('#why .sum', (all) =>
            all.map((one) => Number(one.dataset.number)),
        );
        const [written, left, match, product, change, sum] = parts;
        const near = (a, b) => Math.abs(a - b) < 0.011 * Math.abs(b) + 1e-6;
        yes(near(written * left * match, product), 'the product');
        yes(near(product + change, sum), 'the sum');
        const taken = await page.$$eval('#why .by', (all) =>
            all.reduce((total, one) => total + Number(one.lastChild.textContent.replace('−', '-')), 0),
        );
        yes(Math.abs(taken - change) < 0.005 * 3, 'what each token replaced');
    });
};

// olmo_hybrid shares keys in attention alone
await test('layers that keep a state have maps, and cells that are explained', async () => {
    for (const family of ['qwen3_5_text', 'olmo_hybrid']) await explainsMixer(family);
});

await test('the table of every head of every layer has the numbers of --format json', () =>
    withPage(tinyPage, async (page) => {
        for (const layer of [0, 1])
            for (const head of [0, 1, 2, 3]) {
                await showHead(page, `${layer}.${head}`);
                same(causal(tiny[0].tensors[`h.${layer}.weights`][head]), await readTable(page));
            }
        const headings = await page.$$eval('#numbers thead th', (cells) =>
            cells.map((cell) => cell.textContent),
        );
        same(['', ...tiny[0].tokens.map(shown)], headings);
    }));

await test('the readout shows the number of the cell under the pointer, 0 if masked', () =>
    withPage(
        tinyPage,
        async (page) => {
            await showHead(page, '0.0');
            const box = await boxOf(matrix(page));
            const [left, top, wide, high] = await cellsOf(page);
            const weights = tiny[0].tensors['h.0.weights'][0];
            for (const [row, column] of [
                [3, 1],
                [6, 0],
                [2, 5],
            ]) {
                await page.mouse.move(
                    box.x + left + wide * (column + 0.5),
                    box.y + top + high * (row + 0.5),
                );
                const text = await readout(page);
                const value = column > row ? '0' : weights[row][column].toFixed(2);
                yes(text.startsWith(value), `${text} is not ${value}`);
                yes(text.includes(`query ${row}, key ${column}`), text);
                yes(column <= row || text.includes('masked: score −∞, weight 0'), text);
            }
        },
        { viewport: { width: 1440, height: 900 } },
    ));

await test('vectors and scores keep their signs', () =>
    withPage(tinyPage, async (page) => {
        await showHead(page, '0.0', 'context');
        same(
            tiny[0].tensors['h.0.context'][0].map((row) => row.map(String)),
            await readTable(page),
        );
        await showHead(page, '0.0', 'masked');
        same(causal(tiny[0].tensors['h.0.masked'][0]), await readTable(page));
        await page.selectOption('#tensor', 'embedding');
        same(
            tiny[0].tensors.embedding.map((row) => row.map(String)),
            await readTable(page),
        );
    }));

await test('keys of shared heads are named kv, and their command selects a query head', () =>
    withPage(writePage('-m', 'life-grouped', '-s', LIFE, '--show', 'weights,k'), async (page) => {
        const { tensors } = json('-m', 'life-grouped', '-s', LIFE, '--head', '2', '--show', 'k');
        await showHead(page, '0.kv1', 'k');
        same(
            tensors['h.0.k'][0].map((row) => row.map(String)),
            await readTable(page),
        );
        await page.click('#export-button');
        const line = await page.locator('#export-command').innerText();
        yes(line.includes('--show k --layer 0 --head 2'), line);
    }));

await test('means have the numbers of --format json', async () => {
    const path = write('-s', LIFE, '--mean', 'heads,layers', '--words');
    const mean = json('-s', LIFE, '--mean', 'heads,layers', '--words');
    await withPage(path, async (page) => {
        same(causal(mean.tensors['h.mean.weights.mean']), await readTable(page));
        yes(
            (await page.locator('#numbers caption').innerText()).includes(
                'mean of layers · mean of heads',
            ),
        );
    });
});

await test('a page of many numbers rounds them and states the accuracy', async () => {
    const lines = join(scratch, 'lines');
    const words = LIFE.replace(',', '').split(' ');
    const text = Array.from({ length: 60 }, (_, i) => words[(i * i + 1) % words.length]).join(' ');
    writeFileSync(lines, Array(200).fill(text).join('\n'));
    const options = ['-f', lines, '--show', 'weights,masked,context'];
    const exact = json('-s', text, '--show', 'weights,masked,context').tensors;
    await withPage(write(...options), async (page) => {
        await showHead(page, '0.0');
        yes((await page.locator('#legend').innerText()).includes('accurate to 1 %'), 'no note');
        for (const kind of ['weights', 'masked', 'context']) {
            await showHead(page, '0.0', kind);
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
                        off <= Math.max(0.008 * Math.abs(value), 2e-5 * largest),
                        `${value} ${found}`,
                    );
                }),
            );
        }
    });
});

// --- fields and keys -----------------------------------------------------------------------------

await test('options set the initial state of a page', async () => {
    const words = ['-s', LIFE, '--color-scale', 'log', '--palette', 'greys'];
    const path = write(...words, '--range', '0:0.5', '--title', 'Figure <1> & more');
    await withPage(path, async (page) => {
        const legend = await page.locator('#legend').innerText();
        yes(/0\s+0\.5\s+log scale/.test(legend), legend);
        const grey = ([red, green, blue]) => red === green && green === blue;
        const ramp = page.locator('#legend .ramp');
        const colour = await ramp.evaluate((one) => [
            ...one.getContext('2d').getImageData(99, 0, 1, 1).data,
        ]);
        yes(grey(colour), 'the scale is not grey');
        same('Figure <1> & more', await page.locator('h1').innerText());
        same('Figure <1> & more', await page.title());
    });
    await withPage(write('-s', LIFE, '--hide-first'), async (page) => {
        same(6, (await readTable(page)).length);
        yes((await page.locator('#legend').innerText()).includes('first token'), 'no note');
        await page.click('.chip[data-at="0"]');
        yes((await readout(page)).includes('query 0, key 0'), 'the hidden token has no cell');
        const lines = await page.locator('#stage').evaluate((stage) => {
            const inks = (name, ...box) => {
                const { data } = stage.querySelector(name).getContext('2d').getImageData(...box);
                return data.filter((_, at) => at % 4 === 3);
            };
            const left = inks('.base', 0, 100, 200, 1).findIndex(Boolean); // edge of the matrix
            return inks('.over', left, 20, 1, 20).some(Boolean);
        });
        yes(!lines, 'an outline is drawn over the labels');
        await page.setViewportSize({ width: 390, height: 844 });
        yes((await page.innerText('#legend')).includes('first token'), 'no note on a phone');
    });
});

await test('a menu selects texts, and keys select heads', () =>
    withPage(tinyPage, async (page) => {
        await page.selectOption('#sentence', '1');
        await showHead(page, '0.0');
        same(causal(tiny[1].tensors['h.0.weights'][0]), await readTable(page));
        same(tiny[1].tokens.length, await page.locator('.chip').count());
        await page.locator('h1').click();
        for (const key of [']', 'ArrowRight', 'ArrowRight', ']']) await page.keyboard.press(key);
        same(causal(tiny[1].tensors['h.1.weights'][0]), await readTable(page));
        await page.keyboard.press('[');
        same(causal(tiny[1].tensors['h.0.weights'][3]), await readTable(page));
    }));

await test('the key s switches the scale to square root, and the legend names it', () =>
    withPage(tinyPage, async (page) => {
        const before = await pixels(page);
        await page.keyboard.press('s');
        yes((await page.locator('#legend b').innerText()).includes('square root'), 'no word');
        yes(before !== (await pixels(page)), 'the same picture');
        await page.click('#legend button');
        same(before, await pixels(page));
    }));

await test('long texts use the square root scale, and the legend names it', () => {
    const words = LIFE.replace(',', '').split(' ');
    const text = Array.from({ length: 120 }, (_, i) => words[(i * 7 + i * i) % words.length]);
    return withPage(write('-m', 'life-4-heads', '-s', text.join(' ')), async (page) => {
        yes((await page.locator('#legend').innerText()).includes('square root scale'));
        const { width } = await boxOf(matrix(page));
        const room = await boxOf(page.locator('#middle'));
        yes(width > 0.75 * room.width, `${width} of ${room.width}`);
        const box = await boxOf(matrix(page));
        const counts = () => page.evaluate(() => ({ ...window.work }));
        const workOf = async (act) => {
            const before = await counts();
            for (let i = 0; i < 5; i++) await act(i);
            await drawn(page);
            const names = ['putImageData', 'drawImage', 'decoded', 'made'];
            const after = await counts();
            return names.map((name) => after[name] - before[name]);
        };
        // Another cell draws no matrix; another head: the large one, and the colours of the legend.
        same([0, 0, 0, 0], await workOf((i) => page.mouse.move(box.x + 90 + 9 * i, box.y + 200 + 5 * i)));
        const [matrices, large, decoded, made] = await workOf(() => page.keyboard.press(']'));
        same([10, 5, 0], [matrices, large, decoded], 'matrices of five heads');
        yes(made <= 300, `${made} elements for five heads`);
    }, { counted: true });
});

// --- the page of an attribution ------------------------------------------------------------------

await test('the bars of an attribution have the names and numbers of its table', () => {
    const path = join(scratch, 'parts.html');
    execFileSync(attn, ['attribute', '-q', LIFE, '-o', path]);
    return withPage(path, async (page) => {
        const parts = execFileSync(attn, ['attribute', '-q', LIFE]).toString();
        const texts = await page.locator('svg text').allTextContents();
        const [, name, number] = /(L1\.mlp) {2,}(-?[0-9.]+)/.exec(parts);
        yes(texts.includes(name) && texts.includes(number), texts.join());
    });
});

const patched = join(scratch, 'patch.html');
const prompts = ['--clean', 'The keys to the cabinet', '--corrupt', 'The key to the cabinet'];
execFileSync(attn, ['patch', '-q', ...prompts, '-o', patched]);

for (const [width, least] of [
    [1440, 900],
    [390, 600], // it scrolls: smaller letters cannot be read
])
    await test(`the matrix of patch fills its page of ${width} pixels, light and dark`, async () => {
        for (const colorScheme of ['light', 'dark'])
            await withPage(
                patched,
                async (page) => {
                    const picture = await boxOf(page.locator('svg'));
                    const cells = await boxOf(page.locator('svg rect[fill="none"]').first());
                    yes(picture.width >= least, `the picture has ${picture.width} pixels`);
                    yes(cells.width > 0.85 * picture.width, `cells: ${cells.width} pixels`);
                    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
                    same(width, wide, 'the page is wider than its window');
                    const ground = await page
                        .locator('svg')
                        .evaluate((one) => getComputedStyle(one).backgroundColor);
                    same('rgb(255, 255, 255)', ground, 'below dark letters');
                },
                { viewport: { width, height: 844 }, colorScheme, isMobile: width < 720 },
            );
    });

// --- texts with markup and other scripts ---------------------------------------------------------

const odd = wordModel('odd', ODD);
const oddText = '我 🍰 مرحبا </script><b> & " Life';

await test('tokens with markup are shown as text', async () => {
    const path = write('-m', odd, '-s', oddText, '--title', '</title><b>');
    const source = readFileSync(path, 'latin1');
    same(source.match(/<script/g).length, source.match(/<\/script>/g).length);
    await withPage(path, async (page) => {
        same(0, await page.locator('h1 b, #chips b, script b').count());
        await readTable(page);
        const headings = await page.$$eval('#numbers tbody th', (cells) =>
            cells.map((cell) => cell.textContent),
        );
        same(oddText.split(' '), headings);
        const chips = await page.$$eval('.chip', (all) => all.map((one) => one.textContent));
        same(oddText, chips.join(' '));
        same('</title><b>', await page.title());
    });
});

// Where each of some texts begins and ends in an element, in pixels.
const placesOf = (locator, texts) =>
    locator.evaluate((one, all) => {
        const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        const nodes = [];
        while (walker.nextNode()) nodes.push(walker.currentNode);
        return all.map((text) => {
            const node = nodes.findLast(({ data }) => data.includes(text));
            const range = document.createRange();
            range.setStart(node, node.data.lastIndexOf(text));
            range.setEnd(node, node.data.lastIndexOf(text) + text.length);
            const { left, right } = range.getBoundingClientRect();
            return { left, right };
        });
    }, texts);

await test('words from right to left do not reorder what is beside them', async () => {
    const texts = ['القط جلس على السجادة ثم نام', 'החתול ישב על המחצלת ואז ישן'];
    const model = wordModel('right', texts.join(' ').split(' '));
    for (const text of texts) {
        const names = text.split(' ');
        const inOrder = async (locator, all) => {
            const places = await placesOf(locator, all);
            places.slice(1).forEach(({ left }, at) =>
                yes(left >= places[at].right - 1, `“${all[at]}” is not before “${all[at + 1]}”`),
            );
        };
        const [weights] = json('-m', model, '-s', text).tensors['h.0.weights'];
        const mostOf = (row) => row.indexOf(Math.max(...row));
        const row = weights.findIndex((one, at) => mostOf(one) !== at);
        const key = mostOf(weights[row]);
        const options = { viewport: { width: 1280, height: 720 }, hash: `#cell=${row},${key}` };
        const pair = [names[row], '→', names[key]];
        await withPage(
            writePage('-m', model, text),
            async (page) => {
                await inOrder(page.locator('#pair'), pair);
                await page.click('#why-button');
                const [query, arrow, read] = pair;
                const head = [query, ` ${row}`, arrow, read, ` ${key}`];
                await inOrder(page.locator('.why-head'), head);
                const bars = page.locator('#why .bar .name:has(:is(b, span))');
                for (let at = 0; at < (await bars.count()); at++) {
                    const [name, place] = (await bars.nth(at).innerText()).split(' ');
                    await inOrder(bars.nth(at), [name, ` ${place}`]);
                }
                await page.keyboard.press('Escape');
                same('rtl', await page.getAttribute('#text-line', 'dir'));
                await inOrder(page.locator('#chips'), [...names].reverse());
            },
            options,
        );
    }
});

await test('line separators are escaped', () => {
    const path = write('-m', odd, '--ids', '6,7');
    yes(!readFileSync(path).includes('\u2028'), 'U+2028 is in the page');
});

await test('one token, cross-attention and bare vectors are shown', async () => {
    const paths = [
        write('-s', 'Life'),
        write('-s', 'Life', '--show', 'embedding'),
        write('-m', 'life-cross', '-s', 'Life is', '--source', 'short dessert first'),
        write('-s', LIFE, '--layer', '0', '--head', '2', '--show', 'all'),
        write('-m', 'translate', '-s', 'the cat', '--source', 'the cat', '--show', 'all'),
    ];
    for (const path of paths)
        await withPage(path, async (page) => {
            const kinds = await page.$$eval('#tensor option', (all) => all.map((one) => one.value));
            for (const kind of kinds) {
                if (kinds.length > 1) await page.selectOption('#tensor', kind);
                yes(await page.isVisible('#stage .base'), `${kind} is not drawn`);
            }
        });
});

// --- screens -------------------------------------------------------------------------------------

await test('the page is sharp at a pixel ratio of 1 and 2, light and dark', async () => {
    for (const deviceScaleFactor of [1, 2])
        for (const colorScheme of ['light', 'dark'])
            await withPage(
                tinyPage,
                async (page) => {
                    const ground = () =>
                        page.evaluate(() => getComputedStyle(document.body).backgroundColor);
                    const [width, across] = await page
                        .locator('#stage .base')
                        .evaluate((one) => [one.width, one.getBoundingClientRect().width]);
                    same(Math.round(across * deviceScaleFactor), width);
                    const dark = 'rgb(15, 18, 22)';
                    same(colorScheme === 'dark' ? dark : 'rgb(255, 255, 255)', await ground());
                    const grounds = [dark, 'rgb(255, 255, 255)'];
                    if (colorScheme === 'dark') grounds.reverse();
                    for (const other of grounds) {
                        await page.keyboard.press('d');
                        same(other, await ground());
                    }
                },
                { deviceScaleFactor, colorScheme },
            );
});

const HALF = 'red fox green boat small lamp old';

await test('labels of columns do not overlap, flat or upright, nor does a bold one', async () => {
    const repeated = writePage('-s', `${HALF} door ${HALF}`);
    for (const width of [1280, 1000])
        await withPage(
            repeated,
            async (page) => {
                await page.click('.chip[data-at="13"]');
                const drawnAt = await page.evaluate(() => {
                    const found = [];
                    const draw = CanvasRenderingContext2D.prototype.fillText;
                    CanvasRenderingContext2D.prototype.fillText = function fill(text, x, y) {
                        const { a, b, e } = this.getTransform();
                        const isLabel = this.textAlign === 'center' || b;
                        const size = b ? 13 : this.measureText(text).width;
                        if (this.canvas.className === 'over' && isLabel)
                            found.push([b ? e : (e + x) / (a || 1), size]);
                        draw.call(this, text, x, y);
                    };
                    document.querySelector('.chip[data-at="14"]').click();
                    return found.sort(([one], [other]) => one - other);
                });
                yes(drawnAt.length > 4, `${drawnAt.length} labels`);
                drawnAt.slice(1).forEach(([x, size], at) => {
                    const [before, other] = drawnAt[at];
                    yes(x - before >= (size + other) / 2, `${before} ${other} ${x} ${size}`);
                });
            },
            { viewport: { width, height: 800 } },
        );
});

await test('prefers-reduced-motion removes all transitions and animations', () =>
    withPage(
        tinyPage,
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
            same(0, await lasting());
            await page.emulateMedia({ reducedMotion: 'no-preference' });
            yes((await lasting()) > 0, 'nothing moves without it either');
        },
        { reducedMotion: 'reduce' },
    ));

// --- printing ------------------------------------------------------------------------------------

// Check that a printed page is at most as wide as the paper, dark on white and without controls.
async function checkPaper(page, name) {
    await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    const found = await page.evaluate(() => {
        const shown = [...document.querySelectorAll('main canvas, main table')].map((one) =>
            one.getBoundingClientRect(),
        );
        return {
            right: Math.max(0, ...shown.map((box) => box.right)),
            ground: getComputedStyle(document.body).backgroundColor,
            text: getComputedStyle(document.body).color,
            controls: document.querySelector('.tools').getBoundingClientRect().height,
        };
    });
    yes(found.right <= 700, `${name} ends at ${found.right}`);
    same(['rgb(255, 255, 255)', 'rgb(26, 29, 34)'], [found.ground, found.text]);
    same(0, found.controls);
    await page.emulateMedia({ media: 'screen' });
    await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    yes(await page.isVisible('.tools'), 'the page stays as it was printed');
}

const lesson = join(scratch, 'paper.html');
execFileSync(attn, ['lesson', '-o', lesson]);

await test('a printed picture fits the paper, dark on white', async () => {
    for (const path of [tinyPage, lesson])
        for (const colorScheme of ['light', 'dark'])
            await withPage(path, (page) => checkPaper(page, path), {
                colorScheme,
                viewport: { width: 700, height: 900 },
            });
});

await test('a printed lesson includes its answers', () =>
    withPage(lesson, async (page) => {
        yes(!(await page.isVisible('.question p')), 'the answer is visible on the screen');
        await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
        yes(await page.isVisible('.question p'), 'the answer is not printed');
    }));

await test('Esc changes nothing in a lesson', () =>
    withPage(lesson, async (page) => {
        const words = await page.innerText('main');
        await page.keyboard.press('Escape');
        same(words, await page.innerText('main'));
    }));

// Chromium can print a canvas empty or black although the screen shows it correctly.
async function darkPixels(page) {
    const pdf = join(scratch, 'page.pdf');
    await page.pdf({ path: pdf, format: 'A4' });
    const pgm = execFileSync('pdftoppm', ['-r', '20', '-gray', '-f', '1', '-l', '1', pdf]);
    return pgm.subarray(15).filter((value) => value < 90).length;
}

try {
    execFileSync('pdftoppm', ['-v'], { stdio: 'ignore' });
    await test('the printed cells are neither empty nor black', async () => {
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
    console.log('skipped: printed pages: pdftoppm is not installed');
}

// --- the same SVG in two programs ----------------------------------------------------------------

// How much two pictures differ, of 255 on average. In the page, because a picture has millions of
// numbers.
function differenceOf(page, ...pictures) {
    return page.evaluate(async (sources) => {
        const [one, other] = await Promise.all(
            sources.map(async (source) => {
                const image = new Image();
                image.src = `data:image/png;base64,${source}`;
                await image.decode();
                const canvas = document.createElement('canvas');
                [canvas.width, canvas.height] = [image.width, image.height];
                const context = canvas.getContext('2d');
                context.fillStyle = '#fff';
                context.fillRect(0, 0, image.width, image.height);
                context.filter = 'blur(2px)'; // the programs place letters a bit differently
                context.drawImage(image, 0, 0);
                return context.getImageData(0, 0, image.width, image.height);
            }),
        );
        if (one.width !== other.width || one.height !== other.height)
            throw new Error(`${one.width} × ${one.height}, not ${other.width} × ${other.height}`);
        let sum = 0;
        for (let i = 0; i < one.data.length; i++) sum += Math.abs(one.data[i] - other.data[i]);
        return sum / one.data.length;
    }, pictures);
}

async function compareRenderings(...options) {
    const svg = join(scratch, 'picture.svg');
    run(...options, '-o', svg);
    execFileSync('rsvg-convert', [svg, '-o', join(scratch, 'rsvg.png')]);
    const png = readFileSync(join(scratch, 'rsvg.png'));
    const page = await browser.newPage();
    await page.setViewportSize({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) });
    await page.goto(pathToFileURL(svg).href);
    const shot = await page.screenshot();
    await page.goto('about:blank');
    const off = await differenceOf(page, png.toString('base64'), shot.toString('base64'));
    await page.close();
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

await import('./tasks.mjs');
await import('./why.mjs');
await import('./motion.mjs');
await import('./lesson.mjs');
await import('./live.mjs');
await import('./write.mjs');
await import('./states.mjs');
await import('./matrix.mjs');
await import('./screens.mjs');
await import('./chinese.mjs');
await import('./weight.mjs');
await import('./atlas.mjs');
await import('./access.mjs');
await import('./user.mjs');

await browser.close();
const { passed, failed, skipped } = counts;
console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
process.exit(failed ? 1 : 0);
