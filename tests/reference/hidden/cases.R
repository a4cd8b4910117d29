# Three published models with factors, by R with lavaan and jsonlite. In this folder:  Rscript cases.R   writes cases.json.
suppressMessages({library(lavaan); library(jsonlite)})
school <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
curve <- "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4\ni ~ x1 + x2\ns ~ x1 + x2
t1 ~ c1\nt2 ~ c2\nt3 ~ c3\nt4 ~ c4\ni ~~ s\nt1 ~ 0*1\nt2 ~ 0*1\nt3 ~ 0*1\nt4 ~ 0*1\ni ~ 1\ns ~ 1"
wheaton <- "Alien67 =~ Anomia67 + Powerless67\nAlien71 =~ Anomia71 + Powerless71\nSES =~ Education + SEI
Alien67 ~ g1*SES\nAlien71 ~ g2*SES + b*Alien67\nAnomia67 ~~ Anomia71\nPowerless67 ~~ Powerless71
total_SES_Alien71 := g2 + g1*b"
# Wheaton, Muthen, Alwin and Summers (1977), 932 persons, divided by n - 1
names <- c("Anomia67", "Powerless67", "Anomia71", "Powerless71", "Education", "SEI")
S <- getCov("11.834 6.947 9.364 6.819 5.091 12.532 4.783 5.028 7.495 9.986 -3.839 -3.889 -3.841 -3.625 9.610
-21.899 -18.831 -21.748 -18.775 35.522 450.288", names = names)

answers <- function(text, ...) {
  fit <- lavaan(text, auto.var = TRUE, auto.cov.lv.x = TRUE, auto.fix.first = TRUE, fixed.x = FALSE, ...)
  rows <- parameterEstimates(fit)[, c("lhs", "op", "rhs", "est", "se")]
  std <- standardizedSolution(fit)[, c("lhs", "op", "rhs", "est.std", "se")]
  names(std)[5] <- "se.std"
  list(n = nobs(fit), fit = as.list(fitMeasures(fit)), parameters = merge(rows, std, sort = FALSE),
       r2 = as.list(lavInspect(fit, "rsquare")))
}
of_rows <- function(text, data) {
  ask <- function(...) answers(text, data = data, meanstructure = TRUE, int.ov.free = TRUE, ...)
  list(model = text, main = ask(), observed = ask(information = "observed"), mlr = ask(estimator = "MLR"))
}
ask <- function(...) answers(wheaton, sample.cov = S, sample.nobs = 932, ...)
out <- list(tool = list(name = "lavaan", version = as.character(packageVersion("lavaan")),
                        R = paste(R.version$major, R.version$minor, sep = ".")),
            s07_hs_cfa = of_rows(school, read.csv("schools.csv")), s10_growth = of_rows(curve, read.csv("growth.csv")),
            s11_wheaton_covonly = list(model = wheaton, covariance = S, names = names, main = ask(),
                                       observed = ask(information = "observed"), wishart = ask(likelihood = "wishart")))
writeLines(toJSON(out, digits = 12, auto_unbox = TRUE, na = "null"), "cases.json")
