import { openBrowser } from './_browser.ts'
const b = await openBrowser()
const p = await b.newPage()
for (const css of ['overflow-wrap:anywhere','overflow-wrap:break-word','word-break:break-all','overflow-wrap:anywhere;text-wrap:pretty', 'overflow-wrap:anywhere;line-break:anywhere'])
for (const [name,text] of [['equal','a'.repeat(40000)],['equal wbr', ('a'.repeat(500)+'<wbr>').repeat(80)],['words','lorem ipsum '.repeat(3300)], ['random', Array.from({length:40000},()=>String.fromCharCode(97+Math.random()*26|0)).join('')]]) {
  await p.setContent('<body style="font:16px sans-serif"><div id=x style="width:700px"></div>')
  const ms = await p.evaluate(([css,text])=>{const x=document.getElementById('x'); x.style.cssText+=';'+css; x.innerHTML='<p>'+text+'</p>'; const t=performance.now(); void x.offsetHeight; return performance.now()-t},[css,text])
  console.log(css, name, Math.round(ms))
}
process.exit(0)
