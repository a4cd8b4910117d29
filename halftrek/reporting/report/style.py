"""The look of a report: one style sheet, for screens and for A4."""

STYLE = """
:root { color-scheme: light; --ink: #222; --soft: #5f6368; --line: #d9dce0; --pale: #f6f7f9; --blue: #0072b2;
  --good: #00694d; --bad: #a84300; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: #fff; color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; }
main { max-width: 900px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 44px 0 10px; padding-bottom: 4px;
  border-bottom: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 26px 0 6px; }
p { margin: 8px 0; }
ul { margin: 8px 0; padding-left: 22px; }
li { margin: 5px 0; }
h1, h2, h3, p, li, figcaption, table.facts td { overflow-wrap: anywhere; }
a { color: var(--blue); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: 0.92em; background: var(--pale); padding: 1px 4px; border-radius: 3px; }
pre code { font-size: inherit; background: none; padding: 0; }
pre { font-size: 0.82rem; line-height: 1.45; background: var(--pale); border: 1px solid var(--line); border-radius: 4px;
  padding: 10px 12px; overflow: auto; max-height: 480px; }
.soft { color: var(--soft); font-size: 0.92rem; }
nav { background: var(--pale); border-radius: 6px; padding: 10px 16px; margin: 18px 0; }
nav ol { columns: 2; column-gap: 30px; margin: 0; padding-left: 20px; }
nav li { break-inside: avoid; margin: 2px 0; font-size: 0.95rem; }
.scroll { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: 0.9rem; line-height: 1.4; }
th { text-align: left; font-weight: 600; vertical-align: bottom; border-bottom: 1.5px solid var(--ink); }
td { vertical-align: top; border-bottom: 1px solid var(--line); }
th, td { padding: 4px 14px 4px 0; }
th:last-child, td:last-child { padding-right: 4px; }
th.n, td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.w { min-width: 13em; overflow-wrap: break-word; }
tr.differs td { font-weight: 600; }
table.facts th { font-weight: 400; color: var(--soft); white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid var(--line); }
figure { margin: 16px 0; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; }
figcaption { font-size: 0.88rem; color: var(--soft); margin-top: 4px; }
.badge { display: inline-block; font-weight: 600; font-size: 0.9rem; padding: 1px 9px; border-radius: 10px;
  border: 1px solid; }
.badge.good { color: var(--good); background: #e8f6f1; border-color: #b5ddd0; }
.badge.bad { color: var(--bad); background: #fdf0e7; border-color: #efcdb4; }
.notice { border-left: 4px solid var(--bad); background: #fdf4ee; padding: 8px 14px; margin: 12px 0;
  border-radius: 0 4px 4px 0; }
.notice > :first-child { margin-top: 0; } .notice > :last-child { margin-bottom: 0; }
.formula { font-family: Cambria, "STIX Two Text", "Latin Modern Roman", "Times New Roman", serif; font-size: 1.08rem;
  background: var(--pale); padding: 8px 14px; border-radius: 4px; margin: 10px 0; overflow-wrap: anywhere; }
.formula div { padding-left: 1.4em; text-indent: -1.4em; }
.formula .where { font-size: 0.95rem; margin-left: 1.4em; }
.answer { font-size: 1.15rem; }
.answer b { font-size: 1.3rem; }
@media (max-width: 600px) { nav ol { columns: 1; } main { padding: 18px 14px 40px; } }
@page { size: A4; margin: 16mm 15mm; }
@media print {
  html { font-size: 10pt; }
  body { font-size: 1rem; }
  main { max-width: none; padding: 0; }
  h2 { margin-top: 22px; }
  h2, h3, h2 + p, h3 + p { break-after: avoid; }
  figure svg { max-height: 165mm; width: auto; }
  figure, .notice, .formula, tr, li { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll, figure { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding: 3px 10px 3px 0; }
  pre { font-size: 7.5pt; max-height: none; overflow: visible; white-space: pre-wrap; overflow-wrap: anywhere; }
  .notice, .badge, nav, pre, .formula, code { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  a { color: inherit; text-decoration: none; }
}
"""
