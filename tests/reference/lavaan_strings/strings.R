# What lavaan answers to the strings in <given>.json:  Rscript strings.R given.json answers.json folder-of-rows
suppressMessages({library(lavaan); library(jsonlite)})
places <- commandArgs(trailingOnly = TRUE)
given <- fromJSON(places[1], simplifyDataFrame = FALSE)
kept <- c("npar", "logl", "unrestricted.logl", "chisq", "df", "cfi", "tli", "rmsea", "srmr", "aic", "bic")

rows_of <- function(fit) {
  plain <- parameterEstimates(fit, remove.system.eq = FALSE, remove.eq = FALSE, remove.ineq = FALSE)
  std <- standardizedSolution(fit, remove.eq = FALSE, remove.ineq = FALSE)
  keep <- which(plain$op %in% c("=~", "~", "~~", "~1", ":="))
  lapply(keep, function(i) list(plain$lhs[i], plain$op[i], plain$rhs[i],
    if (is.null(plain$group)) 1 else plain$group[i], plain$est[i], plain$se[i], std$est.std[i], std$se[i]))
}

answer_of <- function(case) {
  options <- eval(parse(text = paste0("list(", case$options, ")")))
  usual <- list(fixed.x = FALSE, meanstructure = TRUE)
  rows <- read.csv(file.path(places[3], paste0(case$data, ".csv")))
  said <- character()
  fit <- tryCatch(withCallingHandlers(
    do.call(case[["function"]], c(list(model = case$text, data = rows), modifyList(usual, options))),
    warning = function(w) { said <<- c(said, conditionMessage(w)); invokeRestart("muffleWarning") }),
    error = function(e) conditionMessage(e))
  if (is.character(fit)) return(list(error = fit))
  if (!lavInspect(fit, "converged")) return(list(error = "not converged"))
  if (lavInspect(fit, "categorical") || lavInspect(fit, "nlevels") > 1) return(list(converged = TRUE, warnings = said))
  tryCatch(list(warnings = said, measures = as.list(fitMeasures(fit, kept)), rows = rows_of(fit)),
    error = function(e) list(warnings = said, error = conditionMessage(e)))
}

answers <- lapply(given, answer_of)
names(answers) <- sapply(given, function(case) case$name)
writeLines(toJSON(list(
  tool = list(name = "lavaan", version = as.character(packageVersion("lavaan")), R = paste(R.version$major, R.version$minor, sep = ".")),
  answers = answers
), auto_unbox = TRUE, na = "null", null = "null", digits = 9), places[2])
