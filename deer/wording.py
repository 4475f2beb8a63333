"""Fixed words that readers see, by language: headings, notices and labels that code adds."""

from math import floor, log10
from typing import Final

_WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "references": "References",
        "sections_missing": "What is missing",
        "no_evidence": "This report rests on no sources and cites nothing.",
        "joined_without_model": "The findings below were joined without a model: {reason}",
        "step_failed": "The step “{title}” found nothing: {reason}",
        "step_skipped": "The step “{title}” was left out: {reason}",
        "no_result": "no result",
        "report_incomplete": "The report stops before its end: {reason}",
        "background_failed": "The background search failed, so the plan was made without it: {reason}",
        "never_searched": "The step “{title}” had to search and did not; its finding rests on no source of its own.",
        "search_ignored": "The step “{title}” asks for a search, which only research steps make; it was left out.",
        "no_coder": "The step “{title}” wants code to be run; this version has no sandbox, so the analyst does it.",
        "history_spent": "The step “{title}” filled its history in {turns} turns and summed up what it had.",
        "turns_spent": "The step “{title}” used all of its {turns} turns and summed up what it had.",
        "step_cancelled": "it was cancelled",
        "step_cut_short": "The step “{title}” was ended before it was done; its finding is what it had by then.",
        "skipped_on_request": "a person asked to do without it",
        "not_needed": "the findings were enough without it",
        "ended_empty": "a person asked for the report before it had found anything",
        "finished_early": "a person asked for the report before it was begun",
        "step_ended_early": "The step “{title}” was ended before it was done, as {reason}; it told what it had.",
        "budget_tokens": "the budget of {limit} tokens is spent",
        "budget_usd": "the budget of {limit} USD is spent",
        "budget_minutes": "the budget of {limit} minutes is spent",
        "budget_searches": "the budget of {limit} searches is spent",
        "budget_pages": "the budget of {limit} pages is spent",
        "budget_reserve": "{reason} but for what the report needs",
        "lookups_left_out": "Not all was looked up that was wanted: {reason}.",
        "rounds_left_out": "Whether the findings are enough was not asked: {reason}.",
        "unpriced": "No price is set for model {models}, so its cost does not count in the budget of USD.",
        "cut_short_finding": "This step was ended before it was done. What its searches had brought by then:",
        "sources_spent": "The step “{title}” reached its limit of {count} sources; later hits were left out.",
        "claims_unchecked": "The quotes of a finding could not be checked: {reason}",
        "markers_removed": "{count} citations to sources that this run has not seen were removed from the report.",
        "links_removed": "{count} links to addresses that this run has not seen were removed from the report.",
        "judge_failed": "Whether the findings are enough could not be judged, so they were reported: {reason}",
        "replan_failed": "A further round was wanted, but its plan failed: {reason}",
        "spending": "Appendix: models and cost",
        "models_called": "Models: {models}",
        "model_with_roles": "{model} ({roles})",
        "listed": ", ",
        "tokens_spent": "Tokens: {input_tokens} read and {output_tokens} written in {calls} calls",
        "tokens_estimated": " (estimated in {calls} of them)",
        "cost": "Cost: {cost} USD",
        "cost_in_part": " (no price is set for {calls} of the calls)",
        "no_price": "Cost: no price is set",
        "role_coordinator": "coordinator",
        "role_planner": "planner",
        "role_researcher": "researcher",
        "role_analyst": "analyst",
        "role_coder": "coder",
        "role_judge": "judge",
        "role_reporter": "reporter",
        "answered_from_reasoning": "This report answers from reasoning alone; no source was consulted.",
        "message_refused": "A message was not taken ({kind}): {reason}",
        "model_passed_over": "The model {name} answered the {role} in place of another one ({reason}).",
        "shortened": "[shortened: {kept} of {chars} characters]",
        "left_out": "[left out for want of room: {what}]",
        "turns_left_out": "[The first {count} turns of this conversation are left out for want of room.]",
        "steps_cut": "The plan had {count} steps, of which {allowed} are allowed; the last ones were cut.",
        "step_repeated": "The plan had the step “{title}” more than once; it was kept once.",
        "wait_dropped": "The step “{title}” was to wait for a step that was cut; it goes without that one.",
        "circle_opened": "The step “{title}” was to wait for itself or in a circle; it goes without that.",
    },
    "zh": {
        "references": "参考来源",
        "sections_missing": "缺失的内容",
        "no_evidence": "本报告没有依据任何来源，不引用任何资料。",
        "joined_without_model": "以下结论未经模型撰写，仅按步骤汇总：{reason}",
        "step_failed": "步骤“{title}”没有结果：{reason}",
        "step_skipped": "步骤“{title}”被略过：{reason}",
        "no_result": "没有结果",
        "report_incomplete": "报告未写完：{reason}",
        "background_failed": "背景搜索失败，计划是在没有背景资料的情况下制定的：{reason}",
        "never_searched": "步骤“{title}”应当搜索却没有搜索，其结论没有自己的来源。",
        "search_ignored": "步骤“{title}”要求搜索，但只有研究步骤会搜索，该要求已忽略。",
        "no_coder": "步骤“{title}”需要运行代码；本版本没有沙箱，改由分析员完成。",
        "history_spent": "步骤“{title}”在 {turns} 轮中用满了它的历史记录，只总结了已有的内容。",
        "turns_spent": "步骤“{title}”用完了 {turns} 轮，只总结了已有的内容。",
        "step_cancelled": "已被取消",
        "step_cut_short": "步骤“{title}”在完成之前被结束，其结果只包含当时已有的内容。",
        "skipped_on_request": "有人要求略过该步骤",
        "not_needed": "没有它，已有的发现也足够",
        "ended_empty": "在该步骤找到任何内容之前，有人要求直接写报告",
        "finished_early": "在该步骤开始之前，有人要求直接写报告",
        "step_ended_early": "步骤“{title}”在完成之前被结束（{reason}），其结论为当时已有的内容。",
        "budget_tokens": "{limit} 个 token 的预算已用完",
        "budget_usd": "{limit} 美元的预算已用完",
        "budget_minutes": "{limit} 分钟的预算已用完",
        "budget_searches": "{limit} 次搜索的预算已用完",
        "budget_pages": "{limit} 个网页的预算已用完",
        "budget_reserve": "{reason}（留给撰写报告的部分除外）",
        "lookups_left_out": "有些内容未能查阅：{reason}。",
        "rounds_left_out": "未再判断结论是否足够：{reason}。",
        "unpriced": "模型 {models} 未设定价格，其费用不计入美元预算。",
        "cut_short_finding": "该步骤在完成之前被结束。当时搜索已找到：",
        "sources_spent": "步骤“{title}”达到 {count} 个来源的上限，之后的结果未采用。",
        "claims_unchecked": "有一项发现的引文无法核对：{reason}",
        "markers_removed": "报告中有 {count} 处引用指向本次研究未见过的来源，已删除。",
        "links_removed": "报告中有 {count} 个链接指向本次研究未见过的地址，已删除。",
        "judge_failed": "无法判断结论是否足够，因此直接撰写报告：{reason}",
        "replan_failed": "需要进一步研究，但新计划失败：{reason}",
        "spending": "附录：模型与费用",
        "models_called": "模型：{models}",
        "model_with_roles": "{model}（{roles}）",
        "listed": "、",
        "tokens_spent": "词元：{calls} 次调用，读入 {input_tokens}，写出 {output_tokens}",
        "tokens_estimated": "（其中 {calls} 次为估计值）",
        "cost": "费用：{cost} 美元",
        "cost_in_part": "（其中 {calls} 次调用未设定价格）",
        "no_price": "费用：未设定价格",
        "role_coordinator": "协调员",
        "role_planner": "规划员",
        "role_researcher": "研究员",
        "role_analyst": "分析员",
        "role_coder": "程序员",
        "role_judge": "评判员",
        "role_reporter": "报告撰写员",
        "answered_from_reasoning": "本报告仅凭推理作答，没有查阅任何来源。",
        "message_refused": "一条消息未被接受（{kind}）：{reason}",
        "model_passed_over": "由模型 {name} 代替另一模型回答 {role}（{reason}）。",
        "shortened": "［已缩短：共 {chars} 字，保留 {kept} 字］",
        "left_out": "［因篇幅所限省略：{what}］",
        "turns_left_out": "［因篇幅所限，省略了此对话最初的 {count} 轮。］",
        "steps_cut": "计划写了 {count} 个步骤，最多允许 {allowed} 个，末尾的步骤已删去。",
        "step_repeated": "计划多次写了步骤“{title}”，只保留一次。",
        "wait_dropped": "步骤“{title}”原应等待一个已删去的步骤，现不再等待。",
        "circle_opened": "步骤“{title}”原应等待自身或与其他步骤互相等待，现不再如此等待。",
    },
}


def is_chinese(locale: str | None) -> bool:
    """Whether a locale is served in Chinese; every other one is served in English."""
    return (locale or "").lower().startswith("zh")


def word(key: str, locale: str | None, **values: object) -> str:
    """The label or notice of that key in the language of the locale, with its values filled in."""
    return _WORDS["zh" if is_chinese(locale) else "en"][key].format(**values)


def in_usd(cost: float) -> str:
    """A sum of money with four decimals, or with as many as it needs to show its first two digits."""
    return f"{cost:.4f}" if cost == 0 or cost >= 0.001 else f"{cost:.{2 - floor(log10(cost)) - 1}f}"


def guessed_locale(text: str) -> str:
    """`zh-CN` when a text is mainly Chinese characters, else `en-US`: a guess that the coordinator may better."""
    ideographs = sum("\u4e00" <= char <= "\u9fff" for char in text)
    letters = sum(char.isascii() and char.isalpha() for char in text)
    return "zh-CN" if ideographs * 2 > letters else "en-US"
