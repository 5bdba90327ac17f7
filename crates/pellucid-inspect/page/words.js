// All words of the page, English and Chinese, in one table. Names of parts, tools and settings are the program's, and stay as they are.

/** A line for each word or sentence: its key, English, Chinese. */
const LINES = `
sessions|Sessions|会话
home|Pellucid, list of sessions|Pellucid，会话列表
place|Where you are|当前位置
views|Views|视图
search.sessions|Filter sessions; Enter searches texts|筛选会话；回车搜索正文
search.session|Search this session|在此会话中搜索
search.all|Search all sessions|搜索所有会话
search.for|Search for “{q}”|搜索“{q}”
search.sum|{n} found in {of} sessions|在 {of} 个会话中找到 {n} 处
search.none|No text has this.|没有文本包含它。
search.regex|regular expression|正则表达式
view.timeline|Timeline|时间线
view.request|Request|请求
view.map|Map|构成
view.diff|Diff|差异
view.cache|Cache|缓存
view.calls|Calls|调用
view.compactions|Summaries|摘要
view.cost|Cost|费用
view.proof|Proof and export|证明与导出
view.packs|Packs|提示包
view.compare|Compare|比较
view.search|Search|搜索
refused|This view cannot be shown|无法显示此视图
gone|The program behind this page has ended. Run \`pellucid inspect\` again.|提供此页面的程序已结束。请再次运行 \`pellucid inspect\`。
close|Close|关闭
copied|copied|已复制
copy.command|Copy command|复制命令
copy.id|Copy the id of the session|复制会话编号
copy.digest|Copy the whole hash|复制完整摘要值
copy.text|Copy the text|复制文本
copy.byhand|Copy this:|请复制此文本：
keys|Keys|按键
keys.on|Keys of one letter are on|启用单字母按键
key.search|search|搜索
key.keys|show these keys|显示按键
key.tabs|open a view of the session|打开会话的视图
key.step|request before or after|上一个或下一个请求
key.arrows|move in a drawing|在图中移动
key.rows|move in a list|在列表中移动
key.enter|open what is chosen|打开所选
key.readings|bytes, texts or tree of a request|请求的字节、文本或树
key.copies|next and previous copy of a text|文本的下一处与上一处
key.copy|copy the command that prints the same|复制打印相同内容的命令
key.up|list of sessions|会话列表
key.escape|leave a field, undo a zoom|离开输入框，取消缩放
model|model|模型
pack|pack|提示包
format|API format|API 格式
requests|requests|请求
sent|sent|已发送
cached|cached|缓存
uncached|not cached|未缓存
written|written|写入缓存
answered|answered|回答
price|price|价格
breaks|breaks|中断
again|paid again|重复付费
unknown|unknown|未知
tokens|tokens|词元
tokens.n|{n} tokens|{n} 词元
bytes|bytes|字节
items|items|项
item|item|项
share|share|占比
yes|yes|是
no|no|否
none|none|无
total|total|合计
of|of {n}|共 {n}
request.one|1 request|1 个请求
request.many|{n} requests|{n} 个请求
break.one|1 break|1 次中断
break.many|{n} breaks|{n} 次中断
part.one|1 part unchanged|1 个部分未变
part.many|{n} parts unchanged|{n} 个部分未变
session.one|1 session|1 个会话
session.many|{n} sessions|{n} 个会话
sessions.some|{n} sessions so far|目前 {n} 个会话
sessions.none|No session fits.|没有符合的会话。
folder|folder|文件夹
since|used since|起始日期
archived|archived|已归档
session|session|会话
used|used (UTC)|使用（UTC）
verdict|verdict|结论
at|sent (UTC)|发送（UTC）
lasted|lasted|持续
outcome|outcome|结果
changed|What changed|改变了什么
purpose|purpose|目的
before|Before|之前
after|After|之后
how.forked|forked|复制
how.started|started as an agent|作为代理启动
how.added|added|新增
how.removed|removed|移除
how.changed|changed|改变
how.moved|moved|移动
proof.proved|proved|已证明
proof.refuted|altered|被改动
proof.not_provable|not provable|无法证明
damage|{change}: line {line} of {file}, byte {byte}, {kind}, turn {turn}|{change}：{file} 第 {line} 行，第 {byte} 字节，{kind}，轮次 {turn}
proof.none|not checked|未检查
proof.redacted|Texts of this session were blanked, so some requests cannot be proved.|此会话的文本已被涂去，部分请求无法证明。
proof.filled|Texts of this session were replaced by filler of the same length.|此会话的文本已替换为等长填充。
anchor|anchor|锚
sealed|sealed|已封存
sealed.bytes|{n} of {of} bytes|{of} 字节中的 {n}
certify|A certificate without any text:|不含文本的证书：
norecord|no record|无记录
later|not computed yet|尚未计算
norequests|No request was sent yet.|尚未发送请求。
norecord.long|There is no record of requests, so bytes and parts are not known. The figures are token counts of the session file.|此会话没有请求记录，因此不知道字节和构成。所示内容来自文件中的词元计数。
torn|{n} lines of the session file are torn, and were skipped.|会话文件有 {n} 行残缺，已跳过。
verdict.cold|cold|首次
verdict.extended|extended|延续
verdict.broken|broken|中断
verdict.shortened|shortened|缩短
verdict.expired|expired|过期
verdict.missed|missed|未命中
verdict.extends|extends the last one|延续上一个
verdict.long.cold|The session sent no request before this one.|此前会话没有发送过请求。
verdict.long.extended|The request extends the one before, which the provider read from its cache.|请求延续前一个，提供方从缓存读取了前者。
verdict.long.broken|What the model reads differs from the request before, so everything from the first difference on was paid for again.|模型读取的内容与前一个请求不同，从第一处差异起都要重新付费。
verdict.long.shortened|Turns were rolled back; the remaining ones were read from the cache.|回退了若干轮；其余从缓存读取。
verdict.long.expired|The request extends the one before, but more time passed than the provider keeps a request.|请求延续前一个，但间隔超过提供方的保留时间。
verdict.long.missed|The request extends the one before in time, and yet the provider did not read it from its cache.|请求及时延续前一个，但提供方没有从缓存读取。
verdict.long.unknown|There are no figures to decide by.|没有可供判断的数据。
purpose.answer|answer|回答
purpose.answer_again|answer, sent again|回答，重发
purpose.summary|summary|摘要
purpose.provider_summary|summary by the provider|提供方摘要
purpose.memory_summary|summary for the memory|记忆摘要
purpose.vectors|vectors|向量
by|by|按
by.author|author|作者
by.request|request|请求
by.turn|turn|轮
unit|height|高度
axis|axis|横轴
axis.number|number|编号
axis.time|time|时间
whole|Whole session|整个会话
table.show|Show table|显示表格
table.hide|Hide table|隐藏表格
timeline.label|Timeline of requests. Arrow keys choose a request, Enter opens it.|请求时间线。方向键选择，回车打开。
timeline.table|Requests as a table|请求表格
made.of|Request #{n} is made of|请求 #{n} 的构成
legend.cached|read from the cache|从缓存读取
legend.new|new|新增
bin|and {n} requests in all, #{first}–{last}|等共 {n} 个请求，#{first}–{last}
live.request|Request #{n} was sent|已发送请求 #{n}
turns|Turns|各轮
span.waiting|waiting|等待
span.streaming|streaming|接收
span.tool|tools|工具
request.of|Request #{n} of {of}|请求 #{n}，共 {of}
prev|request before|上一个请求
next|request after|下一个请求
fork|Fork here|在此复制
unproved|This request cannot be rebuilt from the record, so its bytes are not shown.|此请求无法从记录重建，因此不显示其字节。
digest|SHA-256|SHA-256
attempts|attempts|尝试
failure|failure|失败
byte.at|byte {n}|字节 {n}
reading|reading|读法
reading.text|text|文本
reading.wire|bytes|字节
reading.tree|tree|树
families|Whose words|文字出处
beside|About the request|关于请求
family.yours|yours|你的
family.notation|notation|记法
source.file|file|文件
source.user|user|用户
source.provided|setting|设置
source.skill|skill|技能
source.fact|fact|事实
source.session|session file|会话文件
source.layout|layout|布局
source.wire|notation|记法
wire.label|Bytes of the request|请求的字节
text.label|Texts of the request|请求的文本
tree.label|Tree of the request|请求的树
row|Row|行
row.hint|Point at a text or choose it to see where it comes from, what it costs, and since when it is sent.|指向或选择一段文本，查看其来源、费用以及从何时起发送。
row.before|compare with the request before|与前一个请求比较
row.open|open|打开
part|part|部分
role|role|角色
source|source|来源
origin|origin|出处
file.range|in the file|文件内
file.bytes|bytes {from}–{to} of {of}|{of} 字节中的 {from}–{to}
offset|place|位置
bytes.raw|before escaping|转义前
status|status|状态
status.altered|altered: bytes that are not UTF-8|有改动：非 UTF-8 字节
status.truncated|truncated|被截断
status.duplicate|duplicate|重复
lines|lines|行号
sentin|sent in|发送于
cachedsince|cached since|缓存自
summarised|summarised by|被摘要于
copies|copies|副本
costs|costs|费用
costs.each|{uncached} for each request, {cached} if cached|每个请求 {uncached}，命中缓存 {cached}
selection.why|When was this sent?|何时发送过？
text.found|Text|文本
text.absent|The request does not have this text.|请求中没有此文本。
item.of|item {n}: {part}|第 {n} 项：{part}
more|show {n} more characters|再显示 {n} 个字符
more.nodes|{n} more|还有 {n} 个
image|image, {n} bytes|图像，{n} 字节
hidden|hidden character {point}|隐藏字符 {point}
hidden.tag|hidden characters|隐藏字符
masked|{n} secrets are masked|已遮盖 {n} 处机密
masked.show|Show them|显示
absent|Not seen by the model|模型看不到的
absent.none|Nothing was left out, as far as the record says.|就记录所示，没有省略。
map.sum|bytes and share of {n} bytes|字节数与占 {n} 字节的比例
map.label|Parts of the request by size. Arrow keys choose a part, Enter opens it.|按大小排列的请求构成。方向键选择，回车打开。
map.table|Parts as a table|构成表格
map.unused|mark tools that were never called|标出从未调用的工具
unused|never called in this session|此会话从未调用
lines.sums|+{added} −{removed} lines|+{added} −{removed} 行
lines.of|Changed lines of {part}|{part} 的改动行
line.n|line {n}|第 {n} 行
lines.n|lines {from}–{to}|第 {from}–{to} 行
effect.rebilled|diverges at {part} ({cause}); what is read after that is paid for again: {tokens}|于 {part}（{cause}）中断；其后内容重新付费：{tokens}
effect.kept|{n} of {of} bytes that the model read before are kept|模型之前读取的 {of} 字节保留了 {n}
diff.none|No part differs.|没有不同的部分。
diff.notation|notation {n} bytes|记法 {n} 字节
diff.usual|{n} differences that any two sessions have|{n} 处任意两个会话都有的差异
diff.first|This is the first request of the session, so there is none before it.|这是会话的第一个请求，之前没有请求。
diff.with|compare with request|比较对象请求
diff.now|compare with what would be sent now|与现在将发送的比较
diff.any|compare any two requests|比较任意两个请求
diff.names|Names of requests: SESSION#N, SESSION#next, now, now@REV, file:PATH.|请求的名称：SESSION#N、SESSION#next、now、now@REV、file:PATH。
cache.why|Why was this paid for again?|为什么重复付费？
cache.over|; each token was sent {times} times; |；每个词元发送了 {times} 次；
cache.money|{part} of {whole}|{whole} 中的 {part}
cache.next|Next request:|下一个请求：
cache.estimated|Without a record, figures are estimated from token counts.|没有记录，数字由词元计数估算。
cache.kept|kept|保留
cache.expected|expected from the cache|预期缓存
cache.read|read by the provider|提供方读取
cache.idle|idle before|之前空闲
cache.keeps|provider keeps|提供方保留
cache.where|First difference|第一处差异
cache.at|{part}, byte {n} of the request|{part}，请求的字节 {n}
cache.unread|(not read by the model)|（模型不读取）
cache.avoid|To avoid it:|如何避免：
cache.texts|Old and new text|新旧文本
cache.hint|Choose a request to see what changed.|选择一个请求查看改变。
compactions.none|No summary took the place of the history.|历史未被摘要取代。
compaction.asked|asked by|请求于
compaction.summary|Summary|摘要
compaction.sealed|the provider sealed it|提供方已加密
compaction.undone|This summary was undone: the history before it is back.|此摘要已撤销，之前的历史已恢复。
compaction.replaced|replaced|被取代
compaction.kept|word for word|原样保留
lost|Lost by the summary|摘要中丢失的
lost.none|No path, name, open task or demand is missing.|没有缺失的路径、名称、未完成任务或要求。
lost.constraints|Demands|要求
lost.open_tasks|Open tasks|未完成的任务
lost.paths|Paths|路径
lost.identifiers|Names|名称
item.one|1 item|1 项
item.many|{n} items|{n} 项
files|Files|文件
output.whole|Whole output|完整输出
output.marked|What the model was sent is marked.|已标出发送给模型的部分。
more.bytes|show more of {n} bytes|再显示，余 {n} 字节
prices|Prices: {list}|价格：{list}
tool|tool|工具
arguments|Arguments|参数
output|Output|输出
output.seen|The model was sent {n} bytes.|模型收到 {n} 字节。
output.kept|The whole output has {n} bytes.|完整输出有 {n} 字节。
output.part|{n} bytes of the output are kept.|保留了输出的 {n} 字节。
grounds|grounds|依据
sandbox|sandbox|沙箱
writable|writable|可写
network|network|网络
exit|exit {n}|退出码 {n}
exitcode|exit code|退出码
run.n|Run {n}|第 {n} 次运行
denied|denied|被拒绝
began|began|开始
answers|answers|答复
call.request|made by the answer to|由此请求的回答发起
call.inner|Calls within it|内部调用
calls.none|No tool was called.|会话没有调用工具。
cost.as|and with|以及
cost.recorded|as recorded|按记录
cost.same|simulated, same setting|模拟，相同设置
cost.would|What it would have cost|换一种设置的费用
cost.differ|The simulation of the recorded setting differs from the provider's figures in {n}.|按记录设置的模拟在 {n}上与提供方数据不同。
cost.chart|Accumulated price over {n} requests: {total}|{n} 个请求的累计价格：{total}
cost.factor|The provider counted {counted} input tokens where Pellucid estimates {estimated}: factor {factor}.|提供方计 {counted} 个输入词元，Pellucid 估计 {estimated}：系数 {factor}。
cost.without|Without figures from the provider, and in no sum: {n}.|没有提供方数据，未计入：{n}。
cost.noprice|the price is unknown; prices.toml can name it|价格未知；可写入 prices.toml
stored.none|Not in this file; \`pellucid inspect {file}\` has it.|此文件里没有；请用 \`pellucid inspect {file}\` 查看。
stored.secrets|A file; {n} texts that look like secrets are blanked|文件；已涂去 {n} 处疑似机密
stored.content|A file; every text is replaced by filler of the same length|文件；所有文本已替换为等长填充
stored.all|A file; nothing is blanked|文件；未涂去任何内容
stored.long|Made by Pellucid {program}. These commands make it a session again, show it, and prove it:|由 Pellucid {program} 生成。以下命令可还原为会话、查看全部答案并加以证明：
stored|This file|此文件
export|Export|导出
export.long|One HTML file that opens in a browser; \`pellucid capsule open\` turns it into a session again.|一个可在浏览器打开的 HTML 文件；\`pellucid capsule open\` 可还原为会话。
export.redact|Blank before writing|写出前涂去
export.secrets|secrets|机密
export.secrets.long|keys, tokens and passwords|密钥、令牌和密码
export.content|content|内容
export.content.long|every text, replaced by filler of the same length|所有文本，替换为等长填充
export.none|nothing|不涂去
export.none.long|the file has every text as it is|文件包含全部原文
export.write|Write the file|写出文件
export.done|written: {n} bytes|已写出：{n} 字节
message|message|消息
line|line|行
packs.message|what you would say|你要说的话
packs.only|only differences|仅差异
packs.long|What each pack would send of the same facts, in bytes. A column adds up to the request of its pack.|每个提示包对相同事实发送的字节数。各列之和是该提示包的请求。
packs.hint|Choose a cell to see where a pack puts a fact, or why it does not send it.|选择单元格，查看提示包把事实放在哪里，或为何不发送。`;

const WORDS = Object.fromEntries(LINES.trim().split("\n").map((line) => line.split("|")).map(([key, ...words]) => [key, words]));

const CHOSEN = "pellucid.language";
let isChinese = false;

/** What the browser keeps under a name; some keep nothing for a page in a file. */
export function remember(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @returns {"en"|"zh"} the language of the page */
export const language = () => (isChinese ? "zh" : "en");

/** Takes the language that was chosen, else that of the browser. */
export function useLanguage() {
  isChinese = (remember(CHOSEN) ?? navigator.language).toLowerCase().startsWith("zh");
  document.documentElement.lang = language();
}

export function setLanguage(to) {
  remember(CHOSEN, to);
  useLanguage();
  window.dispatchEvent(new CustomEvent("words"));
}

/** A word or sentence, with values for the names in braces. A key without an entry is its last word: another key, or a word of the program. */
export function t(key, values = {}) {
  const last = key.slice(key.lastIndexOf(".") + 1);
  const entry = WORDS[key] ?? WORDS[last];
  if (!entry) return last.replaceAll("_", " ");
  return entry[isChinese ? 1 : 0].replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
