# The numbers of s03, s05, s14, s17, s21, fiml_factor and fiml_front_door, by R with lavaan and jsonlite.
# In this folder:  Rscript lavaan_cases.R > lavaan_cases.json   writes all of them into one file, under their names.
suppressMessages({library(lavaan); library(jsonlite)})
texts <- fromJSON("../lavaan_texts.json", simplifyDataFrame = FALSE)
names(texts) <- sapply(texts, function(case) case$case)

rows_of <- function(fit) {
  found <- parameterEstimates(fit)
  found[found$op %in% c("=~", "~", "~~", "~1"), c("lhs", "op", "rhs", "est", "se")]
}
defined <- function(fit) {
  found <- parameterEstimates(fit)
  found[found$op == ":=", c("lhs", "op", "rhs", "est", "se")]
}
measures <- function(fit) as.list(fitMeasures(fit))

# complete rows or a covariance: expected information, and observed for s03
complete <- function(name, ...) {
  given <- if (name == "s14_kerchoff_recursive") {
    moments <- fromJSON("s14_kerchoff_recursive.json")$moments
    S <- moments$covariance
    dimnames(S) <- list(moments$variables, moments$variables)
    list(sample.cov = S, sample.nobs = moments$n)
  } else {
    list(data = read.csv(paste0(name, ".csv")), meanstructure = TRUE, int.ov.free = TRUE)
  }
  do.call("lavaan", c(list(model = texts[[name]]$model_syntax, auto.var = TRUE, auto.cov.lv.x = TRUE,
                           auto.fix.first = TRUE, auto.cov.y = FALSE, fixed.x = FALSE, likelihood = "normal"),
                      given, list(...)))
}
out <- list(tool = list(name = "lavaan", version = as.character(packageVersion("lavaan")),
                        R = paste(R.version$major, R.version$minor, sep = ".")))
for (name in c("s03_admg_bowfree", "s05_frontdoor_saturated", "s14_kerchoff_recursive", "s17_mediation_simple")) {
  fit <- complete(name)
  out[[name]] <- list(n = nobs(fit), logl = as.numeric(logLik(fit)), parameters = rows_of(fit), effects = defined(fit),
                      observed = rows_of(complete(name, information = "observed"))[, c("lhs", "op", "rhs", "se")],
                      fit = measures(fit), r2 = as.list(lavInspect(fit, "rsquare")), npar = fitMeasures(fit, "npar"))
}

# rows with holes: full information
incomplete <- function(text, data, ...) {
  fit <- sem(text, data, missing = "fiml", fixed.x = FALSE, meanstructure = TRUE, std.lv = TRUE, ...)
  list(fit = measures(fit), parameters = rows_of(fit), effects = defined(fit))
}
air <- read.csv("s21_fiml_airquality.csv")
text <- texts[["s21_fiml_airquality"]]$model_syntax
out[["s21_fiml_airquality"]] <- list(main = incomplete(text, air), mlr = incomplete(text, air, estimator = "MLR"))
models <- c(fiml_factor = "F =~ a + b + c + d + e\ne ~ d", fiml_front_door = "m ~ x\ny ~ m\nz ~ x\ny ~~ x\nz ~~ 0*y")
for (name in names(models)) {
  data <- read.csv(paste0(name, ".csv"))
  out[[name]] <- list(observed = incomplete(models[[name]], data), expected = incomplete(models[[name]], data, information = "expected"),
                      mlr = incomplete(models[[name]], data, estimator = "MLR"))
}
writeLines(toJSON(out, auto_unbox = TRUE, na = "null", digits = 15, pretty = 1))
